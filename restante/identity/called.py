"""What ids name: operators by their address, callbacks by their agent, all else by its own name."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.tables.callbacks import callback
from restante.storage.tables.identity import principal, project
from restante.storage.tables.operators import operator

_OF_ITS_AGENT = (
    select("callback of " + principal.c.name)
    .where(principal.c.principal_id == callback.c.agent_id)
    .scalar_subquery()
)
_KINDS = (
    ((Prefix.OPERATOR,), operator, operator.c.operator_id, operator.c.email),
    ((Prefix.AGENT, Prefix.SERVICE), principal, principal.c.principal_id, principal.c.name),
    ((Prefix.PROJECT,), project, project.c.project_id, project.c.slug),
    ((Prefix.CALLBACK,), callback, callback.c.callback_id, _OF_ITS_AGENT),
)


def called(session: Session, tenant_id: bytes | None, ids: Iterable[str | None]) -> dict[str, str]:
    """{public id: name} of those of the tenant; whoever is not of it is not in there."""
    wanted = {text for text in ids if text}
    connection = session.connection()
    names: dict[str, str] = {}
    for prefixes, table, id_, name in _KINDS:
        raw = {
            decoded: text
            for text in wanted
            for prefix in prefixes
            if (decoded := decode_id(prefix, text)) is not None
        }
        if not raw:
            continue
        rows = connection.execute(
            select(id_.label("id"), name.label("name")).where(
                id_.in_(list(raw)), table.c.tenant_id == tenant_id
            )
        )
        names |= {raw[row.id]: row.name for row in rows}
    return names


def agent_called(session: Session, tenant_id: bytes, name: str) -> bytes | None:
    """The id of the tenant's agent of that name, removed or not; None: it has none."""
    rows = session.connection().execute(
        select(principal.c.principal_id, principal.c.name, principal.c.kind).where(
            principal.c.tenant_id == tenant_id, principal.c.name == name
        )
    )
    # utf8mb4_bin compares without spaces at the end
    found = [row.principal_id for row in rows if row.name == name and row.kind == "agent"]
    return found[0] if found else None


def id_called(session: Session, tenant_id: bytes, name: str) -> str | None:
    """The public id of the tenant's operator of that e-mail, else of its agent or service of that name."""
    connection = session.connection()
    found = connection.execute(
        select(operator.c.operator_id).where(
            operator.c.tenant_id == tenant_id, operator.c.email == name.lower()
        )
    ).scalar()
    if found is not None:
        return encode_id(Prefix.OPERATOR, found)
    rows = connection.execute(
        select(principal.c.principal_id, principal.c.name, principal.c.kind)
        .where(principal.c.tenant_id == tenant_id, principal.c.name == name)
        .order_by(principal.c.kind)
    )
    for row in rows:
        if row.name == name:  # utf8mb4_bin compares without spaces at the end
            prefix = Prefix.AGENT if row.kind == "agent" else Prefix.SERVICE
            return encode_id(prefix, row.principal_id)
    return None
