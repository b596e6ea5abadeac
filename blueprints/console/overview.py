"""The overview: what needs somebody first, each with its next step, how much there is, and since when."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from flask import Blueprint, Response, request

from blueprints.console.callbacks import host_of
from blueprints.console.history import rate, short, shown, within
from blueprints.console.needs import MOST_NEEDS, needs
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell, to_act_on
from restante.coordination.assignment_list import COUNTED as UNROUTABLE
from restante.identity.administrators import Administrator
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.attention import INBOXES, Attention, attention
from restante.inbox.filling import COUNTED as FILLING
from restante.inbox.growth import growing
from restante.inbox.inbox_list import MOST
from restante.inbox.lifecycle import Status
from restante.inbox.reachability import POLLS
from restante.inbox.triage.listing import COUNTED
from restante.sampling.series import RANGES, last_hour, percentile_ms, series
from restante.storage.transaction import Session
from restante.webhooks.callbacks import Callback
from restante.webhooks.reviewing import COUNTED as CALLBACKS
from restante.webhooks.reviewing import count_callbacks, list_for_review
from restante.webhooks.states import Status as CallbackStatus

blueprint = Blueprint("console_overview", __name__)
USUAL = "24h"
NAMED = 3
"""Of the callbacks that wait for approval, the oldest."""


@blueprint.get("/overview")
@with_session()
def overview(session: Session, who: SignedIn) -> Response:
    """Of the operator's tenant. Here everybody comes first: who is the platform's goes on to what is his."""
    if not may(who.operator.role, Right.EVENTS_READ):
        return see("/platform")
    admin = administrator(who)
    found = attention(session, admin)
    chosen = request.args.get("range", "")
    chosen = chosen if chosen in RANGES else USUAL
    risen = growing(session, found.inboxes)
    acting, every = to_act_on(session, who, COUNTED), request.args.get("needs") == "all"
    numbers = {name: one.count for name, one in acting["numbers"].items()}
    lines, left_out = needs(
        found,
        growing=risen,
        unroutable=numbers["assignments"],
        suspended=count_callbacks(session, admin, CallbackStatus.SUSPENDED),
        to_approve=numbers["callbacks"],
        most=None if every else MOST_NEEDS,
    )
    burning = acting["fire"]
    points = series(session, admin, RANGES[chosen])
    hour = last_hour(session, admin)
    shares = [percentile_ms(hour.delivered, share) for share in (0.5, 0.95)]
    return shell(
        "overview.html",
        session,
        who,
        here="overview",
        acting=acting,
        every=every,
        attention=found,
        needs=lines,
        left_out=left_out,
        growing=risen,
        asking=_asking(session, admin) if numbers["callbacks"] else (),
        host_of=host_of,
        most_of={"unroutable": UNROUTABLE, "callbacks": CALLBACKS, "filling": FILLING},
        pending=_told(found, Status.PENDING),
        claimed=_told(found, Status.CLAIMED),
        scheduled=_told(found, Status.SCHEDULED),
        looked_at=INBOXES,
        counted=COUNTED,
        most=MOST,
        polls=POLLS,
        ranges=RANGES,
        chosen=chosen,
        usual=USUAL,
        day=timedelta(days=1),
        history=shown(points, RANGES[chosen], since=None if burning is None else burning.since),
        rows=points[::-1],
        as_table=request.args.get("view") == "table",
        leases_ended=hour.lease_expirations,
        delivery=[within(None if share is None else share / 1000) for share in shares],
        within=within,
        short=short,
        rate=rate,
    )


def _asking(session: Session, admin: Administrator) -> Sequence[Callback]:
    waits = CallbackStatus.PENDING_APPROVAL
    return list_for_review(session, admin, limit=NAMED, status=waits).callbacks


def _told(found: Attention, status: Status) -> str:
    """`10,095+`, where one of the inboxes has more than is counted of one."""
    number, capped = found.total(status)
    return f"{number:,}{'+' if capped else ''}"
