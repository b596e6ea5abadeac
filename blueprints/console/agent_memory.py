"""What an agent remembers: its keys, and a value once it is asked for, which the audit keeps."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.agent_shell import agent_page, line_of
from blueprints.console.laid_out import MOST, laid_out
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator
from restante.coordination.memory_browser import list_memory, read_value
from restante.identity.called import called
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

blueprint = Blueprint("console_agent_memory", __name__)
KEYS = 25
MOST_KEY = 200


@blueprint.get("/inboxes/<agent_id>/memory")
@with_session(Right.EVENTS_READ)
def memory(session: Session, who: SignedIn, agent_id: str) -> Response:
    """Its keys, without their values."""
    return _page(session, who, agent_id)


@blueprint.post("/inboxes/<agent_id>/memory")
@with_session(Right.EVENTS_READ)
def value(session: Session, who: SignedIn, agent_id: str) -> Response:
    """The same with the value of one: that it was shown is in the audit, so no link leads here."""
    line, form = line_of(session, who, agent_id), request.form
    project, key = form.get("of", "")[:64], form.get("shown", "")[:MOST_KEY]
    found = read_value(session, administrator(who), line.agent, project=project, key=key)
    return _page(session, who, agent_id, shown=(project, key, found))


def _page(
    session: Session,
    who: SignedIn,
    agent_id: str,
    *,
    shown: tuple[str, str, bytes] | None = None,
) -> Response:
    line, admin, asked = line_of(session, who, agent_id), administrator(who), request.values
    slugs = sorted(projects_of(session, admin.tenant_id))
    project = asked["project"] if asked.get("project") in slugs else None
    key = asked.get("key", "").strip()[:MOST_KEY]
    entries, token = list_memory(
        session,
        admin,
        line.agent,
        limit=KEYS,
        token=asked.get("page") or None,
        project=project,
        key=key or None,
    )
    text = None if shown is None else laid_out(shown[2])
    return agent_page(
        "agent_memory.html",
        session,
        who,
        line,
        tab="memory",
        entries=entries,
        page_token=token,
        page=asked.get("page") or "",
        first="page" not in asked,
        slugs=slugs,
        project=project,
        key=key,
        shown=None if shown is None else shown[:2],
        text=text,
        cut=shown is not None and len(shown[2]) > MOST,
        most_shown=MOST,
        names=called(session, admin.tenant_id, [one.writer for one in entries]),
    )
