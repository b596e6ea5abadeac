"""The inbox: publish, claim, settle, read, and the timers between them. One verb, one page.

An application that shares the database publishes in its own transaction, with its own session
(docs/publishing.md):

    publish(session, producer_of(session, "svc_…"), [message(["agt_…"], project="p", payload={…})])

Rows are written as the session's last statements before its commit, ids are known at once, sequences
after it; a rollback leaves nothing and rings nothing.
"""

from restante.inbox.applications import message, producer_of
from restante.inbox.publication import Publication, Published
from restante.inbox.publish import publish

__all__ = ["Publication", "Published", "message", "producer_of", "publish"]
