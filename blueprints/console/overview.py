"""The overview: what needs somebody first, each with its next step, and how much there is."""

from __future__ import annotations

from flask import Blueprint, Response

from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.attention import INBOXES, attention
from restante.inbox.inbox_list import MOST
from restante.inbox.lifecycle import Status
from restante.inbox.reachability import POLLS
from restante.inbox.triage.listing import COUNTED
from restante.storage.transaction import Session

blueprint = Blueprint("console_overview", __name__)


@blueprint.get("/overview")
@with_session()
def overview(session: Session, who: SignedIn) -> Response:
    """Of the operator's tenant. Here everybody comes first: who is the platform's goes on to what is his."""
    if not may(who.operator.role, Right.EVENTS_READ):
        return see("/account")
    found = attention(session, administrator(who))
    return shell(
        "overview.html",
        session,
        who,
        here="overview",
        attention=found,
        pending=found.total(Status.PENDING),
        claimed=found.total(Status.CLAIMED),
        scheduled=found.total(Status.SCHEDULED),
        looked_at=INBOXES,
        counted=COUNTED,
        most=MOST,
        polls=POLLS,
    )
