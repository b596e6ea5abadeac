"""The projects of a tenant as administrators see and set them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.projects import create_project
from restante.identity.roles import Right
from restante.identity.scopes import SLUG
from restante.inbox import page_token
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import project


class OnQuarantine(StrEnum):
    """What becomes of an ordering key whose head goes into quarantine (contract 2.6)."""

    SKIP = "skip"
    HOLD = "hold"


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """A project as it is set. `created_at`: UTC."""

    id: bytes
    slug: str
    on_quarantine: OnQuarantine
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


def read_project(session: Session, who: Administrator, slug: str) -> ProjectSettings:
    """The project of that slug; NotFound, and what `Administrator.require` raises."""
    who.require(Right.AGENTS_READ)
    return _find(session, who, slug)


def list_projects(
    session: Session, who: Administrator, *, limit: int, token: str | None = None
) -> ProjectPage:
    """So many at most. Raises PageTokenInvalid and what `Administrator.require` does."""
    who.require(Right.AGENTS_READ)
    of = ("projects", who.tenant_id.hex())
    after = page_token.take(session, of, token)
    query = _ROWS.where(project.c.tenant_id == who.tenant_id, project.c.slug > (after or ""))
    rows = session.connection().execute(query.order_by(project.c.slug).limit(limit + 1)).all()
    shown = [_settings(row) for row in rows[:limit]]
    more = page_token.give(session, of, shown[-1].slug) if len(rows) > limit else None
    return ProjectPage(shown, more)


def change_project(
    session: Session, who: Administrator, slug: str, *, on_quarantine: OnQuarantine
) -> ProjectSettings:
    """Say what a head that goes into quarantine from now on does to its ordering key.

    A key that is held already stays held until its head is redriven or discarded. Raises NotFound and
    what `Administrator.require` does. What is as it was is no change, and no entry of the audit.
    """
    who.require(Right.AGENTS_WRITE)
    found = _find(session, who, slug, _ROWS.with_for_update())
    if found.on_quarantine is on_quarantine:
        return found
    session.connection().execute(
        update(project)
        .where(project.c.project_id == found.id)
        .values(on_quarantine=on_quarantine.value)
    )
    reason = f"{slug}: on_quarantine {on_quarantine}"
    record(
        session,
        Entry(who.tenant_id, who.by, Action.PROJECT_UPDATE, found.public_id, reason=reason),
    )
    return replace(found, on_quarantine=on_quarantine)


_ROWS = select(project.c.project_id, project.c.slug, project.c.on_quarantine, project.c.created_at)


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
    on_quarantine = OnQuarantine(row.on_quarantine)
    return ProjectSettings(row.project_id, row.slug, on_quarantine, row.created_at)
