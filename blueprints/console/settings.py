"""What the tenant has set for itself; and beside it what the server, and each project, have set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from flask import Blueprint, Response, request
from werkzeug.datastructures import MultiDict

from blueprints.console.as_shown import faults, marks, marks_in, sent
from blueprints.console.faults import faults_of
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from extensions import house
from restante.errors import ValidationFailed
from restante.identity.project_settings import list_projects
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.identity.tenant_settings import (
    MOST_PENDING,
    TenantSettings,
    change_settings,
    read_settings,
)
from restante.storage.transaction import Session

blueprint = Blueprint("console_settings", __name__)
PROJECTS = 20
"""Whose quarantine policy is shown."""
MOST_TYPED = 16_000


@blueprint.get("/settings")
@with_session(Right.SETTINGS_WRITE)
def settings(session: Session, who: SignedIn) -> Response:
    """As they are."""
    return _page(session, who)


@blueprint.post("/settings")
@with_session(Right.SETTINGS_WRITE, most_bytes=4 * MOST_TYPED)
def change(session: Session, who: SignedIn) -> Response:
    """Set what was changed in the form; nothing where another has set the same otherwise meanwhile."""
    admin, form = administrator(who), request.form
    now = read_settings(session, admin, locked=True)
    try:
        wanted = sent(form, _wanted(form), _set_of(now))
        if wanted.crossed:
            return _crossed(session, who, now, wanted.changed, wanted.crossed)
        if wanted.changed:
            change_settings(session, admin, wanted.changed)
    except ValidationFailed as error:
        return _page(
            session,
            who,
            status=422,
            faults=faults_of(error),
            fields=_typed(form),
            was=marks_in(form),
        )
    return see("/settings?set=yes")


def _crossed(
    session: Session,
    who: SignedIn,
    now: TenantSettings,
    changed: Mapping[str, Any],
    crossed: Iterable[str],
) -> Response:
    """What he wants in the fields, what is set now beside those that another has set too."""
    fields = _fields(now)
    told = {name: _told(value) for name, value in fields.items()}
    typed = _typed(request.form)
    fields |= {name: typed[name] for name in changed}
    return _page(session, who, status=409, faults=faults(crossed, told), fields=fields)


def _told(shown: Any) -> str:
    """A setting in a sentence."""
    if isinstance(shown, bool):
        return "yes" if shown else "no"
    return ", ".join(str(shown).splitlines()) or "nothing"


def _wanted(form: MultiDict[str, str]) -> dict[str, Any]:
    """What the form says; ValidationFailed where a number is none."""
    most = form.get("max_pending", "").replace(",", "").strip()
    if most and not (most.isascii() and most.isdigit() and len(most) < 12):
        raise ValidationFailed.at("/max_pending", "must be a whole number, or nothing")
    return {
        "require_signatures": form.get("require_signatures") == "yes",
        "allowed_origins": _lines(form, "allowed_origins"),
        "max_pending": int(most) if most else None,
        "redacted_paths": _lines(form, "redacted_paths"),
    }


def _set_of(now: TenantSettings) -> dict[str, Any]:
    """As `_wanted` has them."""
    return {
        "require_signatures": now.require_signatures,
        "allowed_origins": sorted(now.allowed_origins),
        "max_pending": now.max_pending,
        "redacted_paths": sorted(now.redacted_paths),
    }


def _lines(form: MultiDict[str, str], name: str) -> list[str]:
    return sorted({line for text in form.get(name, "").splitlines() if (line := text.strip())})


def _page(
    session: Session,
    who: SignedIn,
    *,
    status: int = 200,
    faults: dict[str, str] | None = None,
    fields: dict[str, Any] | None = None,
    was: dict[str, str] | None = None,
) -> Response:
    """`fields`, `was`: what stands in the form and its marks; None: what is set."""
    admin = administrator(who)
    projects = list_projects(session, admin, limit=PROJECTS)
    now = read_settings(session, admin)
    return shell(
        "settings.html",
        session,
        who,
        here="settings",
        status=status,
        settings=now,
        fields=_fields(now) if fields is None else fields,
        was=marks(_set_of(now)) if was is None else was,
        faults=faults or {},
        set_now="set" in request.args,
        most=MOST_PENDING,
        server=house().settings,
        projects=projects.projects,
        more_projects=projects.next_page_token is not None,
    )


def _fields(now: TenantSettings) -> dict[str, Any]:
    return {
        "require_signatures": now.require_signatures,
        "allowed_origins": "\n".join(now.allowed_origins),
        "max_pending": now.max_pending or "",
        "redacted_paths": "\n".join(now.redacted_paths),
    }


def _typed(form: MultiDict[str, str]) -> dict[str, Any]:
    return {
        "require_signatures": form.get("require_signatures") == "yes",
        "allowed_origins": form.get("allowed_origins", "")[:MOST_TYPED],
        "max_pending": form.get("max_pending", "")[:20],
        "redacted_paths": form.get("redacted_paths", "")[:MOST_TYPED],
    }
