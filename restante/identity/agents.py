"""Agents: machine principals, each with exactly one inbox."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sqlalchemy import insert
from sqlalchemy.orm import Session

from restante.audit.entries import IN_PROCESS, Origin
from restante.errors import ValidationFailed
from restante.identity.grants import check_grants
from restante.identity.machines import Enrolled, enrol
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.inboxes import inbox

MOST_CAPABILITIES = 100
_CAPABILITY = re.compile(r"[A-Za-z0-9._:/-]{1,128}")


def create_agent(
    session: Session,
    tenant_id: bytes,
    *,
    name: str,
    grants: Sequence[str] = (),
    capabilities: Sequence[str] = (),
    by: Origin = IN_PROCESS,
) -> Enrolled:
    """A new agent of the tenant, with an empty inbox that begins a new epoch.

    Raises ValidationFailed: the name is taken, a grant names no scope or a project that is not there.
    """
    slugs = projects_of(session, tenant_id)
    scopes = check_grants(grants, PrincipalKind.AGENT, slugs=slugs, pointer="/grants")
    made = enrol(
        session,
        tenant_id,
        PrincipalKind.AGENT,
        name=name,
        grants=scopes,
        by=by,
        columns={"capabilities": json.dumps(check_capabilities(capabilities))},
    )
    session.connection().execute(
        insert(inbox).values(
            recipient_id=made.id,
            tenant_id=tenant_id,
            epoch=new_id(),
            changed_at=database_now(session),  # a poller's first pause is short: it has just begun
        )
    )
    return made


def check_capabilities(capabilities: Sequence[str]) -> list[str]:
    """Each once, sorted; ValidationFailed naming the first that cannot be one."""
    for index, text in enumerate(capabilities):
        if not _CAPABILITY.fullmatch(text):
            raise ValidationFailed.at(
                f"/capabilities/{index}", "must be 1 to 128 letters, digits or any of . _ : / -"
            )
    unique = sorted(set(capabilities))
    if len(unique) > MOST_CAPABILITIES:
        raise ValidationFailed.at("/capabilities", f"at most {MOST_CAPABILITIES}")
    return unique
