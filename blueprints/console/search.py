"""Search: an exact id or name leads straight there, a correlation to its thread. No scan over events."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flask import Blueprint, Response, request

from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.coordination.assignment_list import read_assignment
from restante.coordination.room_list import read_room
from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.called import agent_called, called
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.inbox.inspection import inspect, thread
from restante.inbox.triage import jobs
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_search", __name__)
THREAD = 200
MOST = 200


@blueprint.get("/search")
@with_session(Right.EVENTS_READ)
def search(session: Session, who: SignedIn) -> Response:
    """Where what was typed leads; a page that says what can be found where it leads nowhere."""
    q = request.args.get("q", "").strip()[:MOST]
    if path := _exact(session, who, q):
        return see(path)
    admin = administrator(who)
    found, more = thread(session, admin, q, limit=THREAD) if q else ([], False)
    return shell(
        "search.html",
        session,
        who,
        here="search",
        status=200 if found or not q else 404,
        q=q,
        found=found,
        more=more,
        names=called(session, admin.tenant_id, [one.recipient_id for one in found]),
    )


def _exact(session: Session, who: SignedIn, q: str) -> str | None:
    admin = administrator(who)
    for prefix, lead in _LEADS.items():
        if (raw := decode_id(prefix, q)) is not None:
            try:
                return lead(session, admin, raw)
            except NotFound:
                return None
    agent_id = decode_id(Prefix.AGENT, q)
    if agent_id is not None and called(session, admin.tenant_id, [q]):
        return f"/inboxes/{q}"
    if q and (named := agent_called(session, admin.tenant_id, q)) is not None:
        return f"/inboxes/{encode_id(Prefix.AGENT, named)}"
    return None


_LEADS: Mapping[Prefix, Callable[[Session, Administrator, bytes], str]] = {
    Prefix.EVENT: lambda s, who, raw: f"/events/{inspect(s, who, raw).event_id}",
    Prefix.JOB: lambda s, who, raw: f"/quarantine/jobs/{jobs.read(s, who, raw).public_id}",
    Prefix.ASSIGNMENT: lambda s, who, raw: (
        f"/assignments/{read_assignment(s, who, raw).assignment.assignment_id}"
    ),
    Prefix.ROOM: lambda s, who, raw: f"/rooms/{read_room(s, who, raw).public_id}",
}
"""Where an id leads; NotFound for another tenant's as for none."""
