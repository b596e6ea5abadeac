"""Who may be written to: agents of the tenant that are not removed and hold the project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.errors import RecipientRefused, ValidationFailed
from restante.identity.principal import Principal, Project
from restante.identity.scopes import TenantScope, Verb
from restante.inbox.known_recipients import KNOWN, Known
from restante.inbox.publication import Publication
from restante.inbox.rules import rules
from restante.storage.clock import database_now, offset, utc_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.statement import Statement
from restante.storage.tables.identity import granted_scope, principal, tenant


@dataclass(frozen=True, slots=True)
class Recipients:
    """The database's time, and how much may wait for each recipient and in the tenant."""

    now: datetime
    limits: dict[bytes, int]
    tenant_limit: int | None


def project_of(producer: Principal, publication: Publication, pointer: str) -> Project:
    """The project of a publication that the producer may publish in."""
    if (
        TenantScope.EVENTS_PUBLISH in producer.scopes
        and publication.project not in producer.projects
    ):
        raise ValidationFailed.at(f"{pointer}/project", "there is no such project in this tenant")
    return producer.require(Verb.PUBLISH, publication.project)


def check_recipients(
    session: Session, producer: Principal, publications: Sequence[Publication]
) -> Recipients:
    """Look all recipients up at once; RecipientRefused names those refused, whatever the cause."""
    wanted: set[tuple[bytes, str | None]] = {
        (r, p.project) for p in publications for r in p.recipients
    }
    wanted |= {(p.reply_to, None) for p in publications if p.reply_to}
    most = rules(session).max_pending
    known: Known | None = session.info.get(KNOWN)
    if known is not None and (limits := known.limits(producer.tenant_id, wanted)) is not None:
        return Recipients(
            now=database_now(session),
            limits={r: most if limit is None else limit for r, limit in limits[0].items()},
            tenant_limit=limits[1],
        )
    slugs = sorted({p.project for p in publications})
    enough = [f"agent:{s}:{v}" for s in (*slugs, "*") for v in (Verb.READ, Verb.CLAIM)]
    asked_at = 0.0 if known is None else known.clock()
    rows = _LOOK_UP.rows(
        session,
        {
            "recipients": sorted({r for r, _ in wanted}),
            "tenant": producer.tenant_id,
            "enough": enough,
        },
    )
    held: dict[bytes, set[str]] = {}
    for row in rows:
        held.setdefault(row.principal_id, set()).add((row.scope or "::").split(":")[1])
    refused = {
        r for r, slug in wanted if r not in held or (slug is not None and not held[r] & {slug, "*"})
    }
    if refused:
        raise RecipientRefused(recipients=sorted(encode_id(Prefix.AGENT, r) for r in refused))
    if known is not None:
        known.note(producer.tenant_id, wanted, rows, asked_at=asked_at)
    return Recipients(
        now=rows[0].now + offset(session),
        limits={
            row.principal_id: most if row.max_pending is None else row.max_pending for row in rows
        },
        tenant_limit=rows[0].tenant_limit,
    )


_LOOK_UP = Statement(
    select(
        principal.c.principal_id,
        principal.c.max_pending,
        tenant.c.max_pending.label("tenant_limit"),
        granted_scope.c.scope,
        utc_now().label("now"),
    )
    .join(tenant, tenant.c.tenant_id == principal.c.tenant_id)
    .outerjoin(
        granted_scope,
        (granted_scope.c.principal_id == principal.c.principal_id)
        & granted_scope.c.scope.in_(bindparam("enough", expanding=True)),
    )
    .where(
        principal.c.principal_id.in_(bindparam("recipients", expanding=True)),
        principal.c.tenant_id == bindparam("tenant"),
        principal.c.kind == "agent",
        principal.c.status != "removed",
    )
)
