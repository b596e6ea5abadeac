"""Projects: the labels that scopes are written for."""

from __future__ import annotations

from sqlalchemy import bindparam, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import IN_PROCESS, Entry, Origin
from restante.errors import ValidationFailed
from restante.identity.names import check_slug
from restante.identity.principal import Project
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.statement import Statement
from restante.storage.tables.identity import project
from restante.storage.transaction import Repeat


def create_project(
    session: Session, tenant_id: bytes, slug: str, *, by: Origin = IN_PROCESS
) -> Project:
    """A new project of the tenant; ValidationFailed where the slug is taken."""
    check_slug(slug)
    if slug in projects_of(session, tenant_id):
        raise ValidationFailed.at("/slug", f"the tenant has a project {slug!r} already")
    made = Project(new_id(), slug)
    try:
        session.connection().execute(
            insert(project).values(
                project_id=made.id, tenant_id=tenant_id, slug=slug, created_at=database_now(session)
            )
        )
    except IntegrityError:
        raise Repeat from None  # somebody else's, made meanwhile: the repeat finds it
    target = encode_id(Prefix.PROJECT, made.id)
    record(session, Entry(tenant_id, by, Action.PROJECT_CREATE, target, reason=slug))
    return made


def projects_of(session: Session, tenant_id: bytes) -> dict[str, Project]:
    """All projects of the tenant, by slug."""
    rows = _OF_TENANT.rows(session, {"tenant": tenant_id})
    return {
        row.slug: Project(row.project_id, row.slug, row.on_quarantine == "hold") for row in rows
    }


_OF_TENANT = Statement(
    select(project.c.project_id, project.c.slug, project.c.on_quarantine).where(
        project.c.tenant_id == bindparam("tenant")
    )
)
