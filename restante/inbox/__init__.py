"""The inbox: publish, claim, settle, read, and the timers between them. One verb, one page.

An application that shares the database publishes in its own transaction:
`restante.inbox.publish(session, producer, [Publication(...)])`. Rows are written as the session's
last statements before its commit, ids are known at once, sequences after it; a rollback leaves
nothing and rings nothing.
"""

from restante.inbox.publication import Publication, Published
from restante.inbox.publish import publish

__all__ = ["Publication", "Published", "publish"]
