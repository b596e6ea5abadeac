"""Inboxes: all of a tenant's as a table, and one agent's with what is in it, what it holds and may do."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.agent import granted
from blueprints.console.agent_shell import agent_page
from blueprints.console.faults import Unclear, sentence
from blueprints.console.inbox_order import HEADS, WORDS, narrowed_by, trail
from blueprints.console.narrowing import NONE_LIKE_THAT
from blueprints.console.pages import see
from blueprints.console.scope_cells import cell_of
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.identity.agent_settings import pause_agent
from restante.identity.grant_list import EVERY
from restante.identity.machine_list import MachineStatus
from restante.identity.machine_status import set_status
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.inbox.inbox_events import list_events
from restante.inbox.inbox_list import LIVE, MOST, read_inbox
from restante.inbox.inbox_table import InboxPage, list_inboxes
from restante.inbox.lifecycle import Status
from restante.inbox.reachability import POLLS
from restante.sampling.inbox_history import SLOT, trails
from restante.storage.transaction import Session

blueprint = Blueprint("console_inboxes", __name__)
INBOXES = 25
EVENTS = 25
HELD = 10
GRANTS = 12
"""Projects beside the inbox; the rest is in its tab."""
AGENT = PrincipalKind.AGENT
STATES = (
    *(Status.SCHEDULED, Status.PENDING, Status.CLAIMED, Status.QUARANTINED),
    *(Status.COMPLETED, Status.CANCELLED, Status.EXPIRED),
)
"""Those that wait, then those that have ended."""


@blueprint.get("/inboxes")
@with_session(Right.EVENTS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """A page of them, narrowed and ordered as the address says."""
    admin, asked = administrator(who), narrowed_by(request.args)
    page = InboxPage([], None, None)
    if not asked.faults:
        page = list_inboxes(
            session,
            admin,
            limit=INBOXES,
            token=request.args.get("page"),
            which=asked.which,
            begins=asked.begins,
            by=asked.by,
            backwards=asked.backwards,
        )
    ids = [line.agent.id for line in page.lines]
    return shell(
        "inboxes.html",
        session,
        who,
        here="inboxes",
        lines=page.lines,
        page_token=page.next_page_token,
        sampled_until=None if page.slot_at is None else page.slot_at + SLOT,
        first="page" not in request.args,
        asked=asked,
        heads=HEADS,
        whiches=WORDS,
        trails={id_: trail(some) for id_, some in trails(session, admin.tenant_id, ids).items()},
        most=MOST,
        polls=POLLS,
    )


@blueprint.get("/inboxes/<agent_id>")
@with_session(Right.EVENTS_READ)
def inbox(session: Session, who: SignedIn, agent_id: str) -> Response:
    """One agent's inbox by state, what is in flight and what it may do."""
    admin, state = administrator(who), request.args.get("state", type=Status)
    if request.args.get("state") and state is None:
        raise Unclear(sentence({"state": NONE_LIKE_THAT}), there=f"/inboxes/{agent_id}")
    line = read_inbox(session, admin, agent_id)
    rows, token = list_events(
        session, admin, line.agent, state, limit=EVENTS, token=request.args.get("page")
    )
    held, more_held = list_events(session, admin, line.agent, Status.CLAIMED, limit=HELD)
    one = granted(session, line.agent)
    slugs = [EVERY, *sorted(projects_of(session, admin.tenant_id))]
    cells = [cell_of(one, slug) for slug in slugs]
    return agent_page(
        "inbox.html",
        session,
        who,
        line,
        tab="inbox",
        state=state,
        states=STATES,
        rows=rows,
        page_token=token,
        first="page" not in request.args,
        held=held,
        more_held=more_held is not None,
        cells=[cell for cell in cells if cell.granted][:GRANTS],
        number=len(one.grants),
        live=LIVE,
    )


@blueprint.post("/inboxes/<agent_id>/pause")
@with_session(Right.AGENTS_WRITE)
def pause(session: Session, who: SignedIn, agent_id: str) -> Response:
    """Its claims answer nothing; it keeps receiving."""
    return _to(pause_agent(session, administrator(who), agent_id).public_id)


@blueprint.post("/inboxes/<agent_id>/resume")
@with_session(Right.AGENTS_WRITE)
def resume(session: Session, who: SignedIn, agent_id: str) -> Response:
    """It goes on."""
    return _to(pause_agent(session, administrator(who), agent_id, paused=False).public_id)


@blueprint.post("/inboxes/<agent_id>/disable")
@with_session(Right.AGENTS_WRITE)
def disable(session: Session, who: SignedIn, agent_id: str) -> Response:
    """Its tokens and streams end within a second; its mail is kept."""
    machine = set_status(session, administrator(who), AGENT, agent_id, MachineStatus.DISABLED)
    return _to(machine.public_id)


@blueprint.post("/inboxes/<agent_id>/enable")
@with_session(Right.AGENTS_WRITE)
def enable(session: Session, who: SignedIn, agent_id: str) -> Response:
    """It may sign in again."""
    machine = set_status(session, administrator(who), AGENT, agent_id, MachineStatus.ACTIVE)
    return _to(machine.public_id)


def _to(public_id: str) -> Response:
    return see(f"/inboxes/{public_id}#acts")
