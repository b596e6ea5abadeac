"""Quarantine: by cause, and event by event. Reading changes nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson
from flask import Blueprint, Response, request

from blueprints.console.faults import Unclear, sentence
from blueprints.console.narrowing import HOURS, REASONS, narrowing_shown
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.identity.called import called
from restante.identity.projects import projects_of
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.triage.causes import GROUPS, list_groups
from restante.inbox.triage.causes import LOOKED_AT as LOOKED_AT_EVENTS
from restante.inbox.triage.job_list import list_jobs
from restante.inbox.triage.listing import COUNTED, list_quarantined
from restante.inbox.triage.trend import trends
from restante.inbox.triage.under_way import under_way
from restante.storage.transaction import Session

blueprint = Blueprint("console_quarantine", __name__)
EVENTS = 20
LISTED = 2_000
"""Where causes stand in a list each is counted to here; its own page and a dry run count on."""


@blueprint.get("/quarantine")
@with_session(Right.QUARANTINE_READ)
def causes(session: Session, who: SignedIn) -> Response:
    """The kinds of failure, the most frequent first, and what is being done about them."""
    admin = administrator(who)
    chosen = narrowing_shown(session, admin, request.args)
    jobs, _ = list_jobs(session, admin, limit=1)
    running = under_way(session, admin, chosen.filter)
    groups = list_groups(session, admin, chosen.filter, most=LISTED)
    acted = [one.job.actor_id for one in running] + [job.actor_id for job in jobs]
    return shell(
        "quarantine.html",
        session,
        who,
        here="quarantine",
        chosen=chosen,
        groups=groups,
        trends=trends(session, admin, chosen.filter, [group.failure_signature for group in groups]),
        counted=LISTED,
        looked_at=LOOKED_AT_EVENTS,
        most_causes=GROUPS,
        running=running,
        last_job=jobs[0] if jobs else None,
        names=called(session, admin.tenant_id, [*acted, *(group.recipient_id for group in groups)]),
        **_choices(session, who),
    )


@blueprint.get("/quarantine/events")
@with_session(Right.QUARANTINE_READ)
def events(session: Session, who: SignedIn) -> Response:
    """Event by event, the latest first."""
    return _events(session, who, cause=None)


@blueprint.get("/quarantine/causes/<signature>")
@with_session(Right.QUARANTINE_READ)
def cause(session: Session, who: SignedIn, signature: str) -> Response:
    """One cause: how many, since when, and its events."""
    return _events(session, who, cause=signature)


def _events(session: Session, who: SignedIn, *, cause: str | None) -> Response:
    admin, asked = administrator(who), request.args.copy()
    group, running = None, []
    if cause is not None:
        asked["cause"] = cause
    chosen = narrowing_shown(session, admin, asked)
    if cause is not None:
        if chosen.faults:
            raise Unclear(sentence(chosen.faults), there=f"/quarantine/causes/{cause}")
        groups = list_groups(session, admin, chosen.filter)
        if not groups:
            return _gone(session, who)
        group = groups[0]
        running = [one for one in under_way(session, admin, chosen.filter) if one.many]
    told, token = list_quarantined(
        session, admin, chosen.filter, limit=EVENTS, token=request.args.get("page")
    )
    rows = [_row(text) for text in told]
    return shell(
        "quarantine_events.html",
        session,
        who,
        here="quarantine",
        chosen=chosen,
        group=group,
        counted=COUNTED,
        rows=rows,
        page_token=token,
        first=request.args.get("page") is None,
        running=running,
        names=called(
            session,
            admin.tenant_id,
            [*(row["recipient_id"] for row in rows), *(one.job.actor_id for one in running)],
        ),
        **_choices(session, who),
    )


def _gone(session: Session, who: SignedIn) -> Response:
    """Nothing lies there with that cause: it was, or it never was; that is the same from here."""
    return shell("quarantine_gone.html", session, who, here="quarantine", status=404)


def _choices(session: Session, who: SignedIn) -> dict[str, Any]:
    role, tenant_id = who.operator.role, who.operator.tenant_id
    return {
        "projects": sorted(projects_of(session, tenant_id)) if tenant_id else [],
        "reasons": REASONS,
        "hours": HOURS,
        "may_redrive": may(role, Right.EVENTS_REDRIVE),
        "may_discard": may(role, Right.EVENTS_DISCARD),
    }


def _row(text: bytes) -> dict[str, Any]:
    event: dict[str, Any] = orjson.loads(text)
    at = event["quarantined_at"].removesuffix("Z")
    return {**event, "payload": None, "quarantined_at": datetime.fromisoformat(at)}
