"""The origins (RFC 6454) whose pages may read what a tenant's agents are answered: its `allowed_origins`."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.egress.names import is_loopback_name
from restante.egress.refusal import EgressRefused
from restante.egress.url import Target, parse_url
from restante.errors import ValidationFailed
from restante.identity.recent import Cell
from restante.storage.statement import Statement
from restante.storage.tables.identity import tenant
from restante.storage.transaction import Database

MOST_ORIGINS = 50
_FORM = "write it as browsers send it, for instance https://app.example.com"
_NONE: frozenset[bytes] = frozenset()


def check_origins(texts: Sequence[str], *, pointer: str) -> list[str]:
    """The origins, each in the one spelling that browsers send. ValidationFailed names the first fault.

    https; http for this machine only. Compared exactly, so that nothing may stand for many: no `*`.
    """
    if len(texts) > MOST_ORIGINS:
        raise ValidationFailed.at(pointer, f"at most {MOST_ORIGINS} origins")
    seen: dict[str, None] = {}
    for index, text in enumerate(texts):
        fault = _fault(text) or ("is given twice: give it once" if text in seen else None)
        if fault is not None:
            raise ValidationFailed.at(f"{pointer}/{index}", fault)
        seen[text] = None
    return list(seen)


def _fault(text: str) -> str | None:
    if "*" in text:
        return "must be one origin: * stands for none, list each"
    try:
        target = parse_url(text)
    except EgressRefused as error:
        return f"is no origin ({error.note}); {_FORM}"
    if target.scheme == "http" and not _is_loopback(target):
        return "must begin with https://; http:// is for pages of this machine only, as http://localhost:3000"
    origin = f"{target.scheme}://{target.authority}"
    if text != origin:
        return f"must be an origin as browsers send it, and nothing after it: write {origin}"
    return None


def _is_loopback(target: Target) -> bool:
    return is_loopback_name(target.host) or (
        target.literal is not None and target.literal.is_loopback
    )


class AllowedOrigins:
    """Whose lists an origin is in, at most half a second old. One per process.

    All lists are read together: what strangers ask about costs no look-up of its own.
    """

    def __init__(
        self, database: Database, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._monotonic = monotonic
        self._lists: Cell[Mapping[str, frozenset[bytes]]] = Cell()

    def tenants(self, origin: str) -> frozenset[bytes]:
        """The ids of the tenants that list it. Opens a unit of work where nothing fresh is known."""
        lists = self._lists.fresh(self._monotonic, lambda: self._database.run(_load))
        return lists.get(origin, _NONE)


def _load(session: Session) -> dict[str, frozenset[bytes]]:
    found: defaultdict[str, set[bytes]] = defaultdict(set)
    for row in _LISTS.rows(session, {}):
        for origin in orjson.loads(row.allowed_origins):
            found[origin].add(row.tenant_id)
    return {origin: frozenset(ids) for origin, ids in found.items()}


_LISTS = Statement(
    select(tenant.c.tenant_id, tenant.c.allowed_origins).where(
        tenant.c.allowed_origins.is_not(None)
    )
)
