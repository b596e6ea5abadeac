"""The platform: its tenants, its processes and how far they lag, its database and its keys."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

from flask import Blueprint, Response, request

from blueprints.console.audit_words import KINDS, about
from blueprints.console.pages import see
from blueprints.console.sessions import origin_of, with_session
from blueprints.console.shell import shell
from extensions import house
from restante import __version__
from restante.audit.listing import list_entries
from restante.errors import ValidationFailed
from restante.identity.called import called
from restante.identity.roles import Right
from restante.identity.server_keys import ServerKey, live_keys
from restante.identity.sessions import SignedIn
from restante.identity.tenant_list import list_tenants, open_tenant
from restante.sampling.upkeep import database_report, upkeep
from restante.storage.clock import database_now
from restante.storage.transaction import Session

blueprint = Blueprint("console_platform", __name__)
TENANTS = 25
ENTRIES = 15


@blueprint.get("/platform")
@with_session(Right.TENANTS_READ)
def overview(session: Session, who: SignedIn) -> Response:
    """What the server is made of, and how it is."""
    now = database_now(session)
    keys = live_keys(session, now)
    server, revision = database_report(session, who.operator)
    return shell(
        "platform.html",
        session,
        who,
        here="platform",
        version=__version__,
        python=".".join(map(str, sys.version_info[:3])),
        public_url=house().settings.public_url,
        server=server,
        revision=revision,
        upkeep=upkeep(session, who.operator),
        keys=_with_duties(keys, now),
        rotated_days=house().settings.key_rotation_days,
    )


@blueprint.get("/platform/tenants")
@with_session(Right.TENANTS_READ)
def tenants(session: Session, who: SignedIn) -> Response:
    """Which there are."""
    return _tenants(session, who)


@blueprint.post("/platform/tenants")
@with_session(Right.TENANTS_WRITE)
def create(session: Session, who: SignedIn) -> Response:
    """One more."""
    name = request.form.get("name", "").strip()
    signed = request.form.get("unsigned") != "ok"
    by = origin_of(request, who)
    try:
        open_tenant(session, who.operator, name, require_signatures=signed, by=by)
    except ValidationFailed as error:
        return _tenants(session, who, fault=error.members["errors"][0]["detail"], typed=name)
    return see("/platform/tenants")


@blueprint.get("/platform/audit")
@with_session(Right.PLATFORM_AUDIT_READ)
def audit(session: Session, who: SignedIn) -> Response:
    """What concerns no tenant."""
    page = list_entries(session, None, limit=ENTRIES, token=request.args.get("page"))
    return shell(
        "platform_audit.html",
        session,
        who,
        here="platform",
        page=page,
        about=about,
        kinds=KINDS,
        names=called(
            session, None, [name for one in page.entries for name in (one.actor_id, one.target)]
        ),
        first="page" not in request.args,
    )


def _with_duties(keys: Sequence[ServerKey], now: datetime) -> list[tuple[ServerKey, str]]:
    """Each key with what it does: of those of a purpose that may sign, the oldest signs."""
    told, signing = [], set[str]()
    for key in keys:
        if not key.may_sign(now):
            told.append((key, "verifies"))
        elif key.purpose in signing:
            told.append((key, "is published, signs next"))
        else:
            signing.add(key.purpose)
            told.append((key, "signs"))
    return told


def _tenants(
    session: Session, who: SignedIn, *, fault: str | None = None, typed: str = ""
) -> Response:
    found, token = list_tenants(
        session, who.operator, limit=TENANTS, token=request.args.get("page")
    )
    return shell(
        "platform_tenants.html",
        session,
        who,
        here="platform",
        status=422 if fault else 200,
        tenants=found,
        page_token=token,
        first="page" not in request.args,
        fault=fault,
        typed=typed,
    )
