"""The projects of a tenant as administrators see and set them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import NotFound, RecipientRefused, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.projects import create_project
from restante.identity.roles import Right
from restante.identity.scopes import SLUG
from restante.inbox.escalation_policy import holds
from restante.storage import page_token
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.tables.identity import project


class OnQuarantine(StrEnum):
    """What becomes of an ordering key whose head goes into quarantine (contract 2.6)."""

    SKIP = "skip"
    HOLD = "hold"


OPERATORS = "operators"
MOST_UNREAD_SECONDS = 30 * 86_400


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """A project as it is set. `created_at`: UTC.

    What nobody has read for `unread_after_seconds` (None: for however long) is told to
    `unread_escalate_to`: an agent, `agt_…`, or `operators`.
    """

    id: bytes
    slug: str
    on_quarantine: OnQuarantine
    unread_after_seconds: int | None
    unread_escalate_to: str
    created_at: datetime

    @property
    def public_id(self) -> str:
        """`prj_…`."""
        return encode_id(Prefix.PROJECT, self.id)


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """By slug; the token of what comes after them, None: nothing."""

    projects: Sequence[ProjectSettings]
    next_page_token: str | None


def add_project(session: Session, who: Administrator, slug: str) -> ProjectSettings:
    """A new project. Raises ValidationFailed and what `Administrator.require` does."""
    who.require(Right.AGENTS_WRITE)
    create_project(session, who.tenant_id, slug, by=who.by)
    return _find(session, who, slug)


def read_project(
    session: Session, who: Administrator, slug: str, *, locked: bool = False
) -> ProjectSettings:
    """The project of that slug; `locked`: nobody else changes it now.

    Raises NotFound and what `Administrator.require` does.
    """
    who.require(Right.AGENTS_READ)
    return _find(session, who, slug, _ROWS.with_for_update() if locked else _ROWS)


def list_projects(
    session: Session, who: Administrator, *, limit: int, token: str | None = None
) -> ProjectPage:
    """So many at most. Raises PageTokenInvalid and what `Administrator.require` does."""
    who.require(Right.AGENTS_READ)
    of = ("projects", who.tenant_id.hex())
    after = page_token.take(session, of, token)
    query = _ROWS.where(project.c.tenant_id == who.tenant_id, project.c.slug > (after or ""))
    rows = session.connection().execute(query.order_by(project.c.slug).limit(limit + 1)).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.slug)
    return ProjectPage(list(map(_settings, shown)), more)


def change_project(
    session: Session, who: Administrator, slug: str, changes: Mapping[str, Any]
) -> ProjectSettings:
    """Set `on_quarantine`, `unread_after_seconds`, `unread_escalate_to`, those named.

    A key that is held already stays held until its head is redriven or discarded. Raises NotFound,
    ValidationFailed, RecipientRefused (an agent that is not the tenant's, is removed or has not the
    project: alike) and what `Administrator.require` does. What is as it was is no change, and no entry
    of the audit.
    """
    who.require(Right.AGENTS_WRITE)
    if not changes:
        raise ValidationFailed.at("", f"names nothing to change; give {' or '.join(_SET)}")
    found = _find(session, who, slug, _ROWS.with_for_update())
    changed = {name: changes[name] for name in _SET if name in changes}
    changed = {name: value for name, value in changed.items() if value != getattr(found, name)}
    if not changed:
        return found
    session.connection().execute(
        update(project)
        .where(project.c.project_id == found.id)
        .values(
            {name: _column(session, who, found, name, value) for name, value in changed.items()}
        )
    )
    told = (f"{name} {'null' if value is None else value}" for name, value in changed.items())
    reason = f"{slug}: {', '.join(told)}"
    record(
        session,
        Entry(who.tenant_id, who.by, Action.PROJECT_UPDATE, found.public_id, reason=reason),
    )
    return replace(found, **changed)


def _column(
    session: Session, who: Administrator, found: ProjectSettings, name: str, value: Any
) -> Any:
    """What is kept of a setting."""
    if name == "unread_after_seconds":
        if value is not None and not 1 <= value <= MOST_UNREAD_SECONDS:
            raise ValidationFailed.at(
                f"/{name}", f"must be 1 to {MOST_UNREAD_SECONDS}, or null for no limit"
            )
        return value
    if name != "unread_escalate_to":
        return OnQuarantine(value).value
    if value == OPERATORS:
        return None
    agent_id = decode_id(Prefix.AGENT, value)
    if agent_id is None or not holds(session, who.tenant_id, agent_id, found.slug):
        raise RecipientRefused(recipients=[value])
    return agent_id


_SET = ("on_quarantine", "unread_after_seconds", "unread_escalate_to")
_ROWS = select(
    project.c.project_id,
    project.c.slug,
    project.c.on_quarantine,
    project.c.unread_after_seconds,
    project.c.unread_escalate_to,
    project.c.created_at,
)


def _find(
    session: Session, who: Administrator, slug: str, rows: Select[Any] = _ROWS
) -> ProjectSettings:
    if not SLUG.fullmatch(slug):  # it is nobody's
        raise NotFound
    query = rows.where(project.c.tenant_id == who.tenant_id, project.c.slug == slug)
    row = session.connection().execute(query).one_or_none()
    if row is None:
        raise NotFound
    return _settings(row)


def _settings(row: Any) -> ProjectSettings:
    told = row.unread_escalate_to
    return ProjectSettings(
        row.project_id,
        row.slug,
        OnQuarantine(row.on_quarantine),
        row.unread_after_seconds,
        OPERATORS if told is None else encode_id(Prefix.AGENT, told),
        row.created_at,
    )
