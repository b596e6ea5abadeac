"""For applications that share the database: who they publish as, and a message, checked.

What a request's body is checked for at the edge, these check in the application's own process: what
`publish` is given it writes as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import NotFound, PayloadTooLarge, RecipientRefused, ValidationFailed
from restante.identity.names import UNTIDY, is_tidy
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.requested_scopes import expand
from restante.identity.scopes import SLUG, parse_scope
from restante.inbox.publication import Publication
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.identity import granted_scope, principal
from restante.storage.transaction import adopt

PAYLOAD_BYTES = 256 * 1024
_ENDS = frozenset({"quarantined", "expired", "cancelled"})
_PREFIXES = {PrincipalKind.SERVICE: Prefix.SERVICE, PrincipalKind.AGENT: Prefix.AGENT}


def producer_of(session: Session, public_id: str) -> Principal:
    """The service (`svc_…`) or agent (`agt_…`) as which an application publishes, as it is now.

    Its grants are read once: ask again in every transaction. Raises NotFound for one that is unknown,
    disabled or removed.
    """
    adopt(session)
    connection = session.connection()
    for kind, prefix in _PREFIXES.items():
        raw = decode_id(prefix, public_id)
        if raw is None:
            continue
        row = connection.execute(
            select(principal).where(
                principal.c.principal_id == raw,
                principal.c.kind == kind.value,
                principal.c.status == "active",
            )
        ).one_or_none()
        if row is None:
            break
        projects = projects_of(session, row.tenant_id)
        granted = connection.execute(
            select(granted_scope.c.scope).where(granted_scope.c.principal_id == raw)
        ).scalars()
        scopes = [scope for text in granted if (scope := parse_scope(text)) is not None]
        held = frozenset(expand(scopes, projects.keys()))
        return Principal(row.tenant_id, kind, raw, row.name, held, projects)
    raise NotFound


def message(
    recipients: Sequence[str],
    *,
    project: str,
    payload: Mapping[str, Any],
    type: str | None = None,
    priority: int = 0,
    correlation_id: str | None = None,
    causation_id: str | None = None,
    reply_to: str | None = None,
    ordering_key: str | None = None,
    available_at: datetime | None = None,
    delay_seconds: float | None = None,
    expires_at: datetime | None = None,
    expires_in_seconds: float | None = None,
    max_attempts: int | None = None,
    corrects: str | None = None,
    idempotency_key: str | None = None,
    supersedes_key: str | None = None,
    report: Collection[str] = (),
    payload_limit_bytes: int = PAYLOAD_BYTES,
) -> Publication:
    """A publication with the members and bounds of the contract (6.1); ids as text, instants aware.

    Raises ValidationFailed (naming the member), RecipientRefused, PayloadTooLarge.
    """
    said = type if type is not None else payload.get("type")
    keys = {
        "correlation_id": correlation_id,
        "causation_id": causation_id,
        "ordering_key": ordering_key,
        "supersedes_key": supersedes_key,
    }
    for name, key in keys.items():
        _key(name, key, 200)
    _key("idempotency_key", idempotency_key, 128)
    _check("project", SLUG.fullmatch(project), "is no slug")
    _check(
        "recipients", len(set(recipients)) == len(recipients) > 0, "name each once, at least one"
    )
    _check("type", isinstance(said, str), "must be a text")
    _key("type", str(said), 128)
    _check("priority", _within(priority, -100, 100), "must be an integer of -100 to 100")
    _check(
        "max_attempts", max_attempts is None or _within(max_attempts, 1, 100), "must be 1 to 100"
    )
    _check(
        "available_at", available_at is None or delay_seconds is None, "or delay_seconds, not both"
    )
    _check(
        "expires_at", expires_at is None or expires_in_seconds is None, "or the length, not both"
    )
    _check("delay_seconds", delay_seconds is None or delay_seconds >= 0, "must not be negative")
    _check("report", set(report) <= _ENDS, f"knows {', '.join(sorted(_ENDS))}")
    corrected = None if corrects is None else decode_id(Prefix.EVENT, corrects)
    _check("corrects", corrects is None or corrected is not None, "is no id of an event")
    try:
        text = orjson.dumps(dict(payload))
    except (TypeError, ValueError) as error:
        raise ValidationFailed.at("/payload", f"is no JSON object: {error}") from error
    if len(text) > payload_limit_bytes:
        raise PayloadTooLarge(f"A payload may have {payload_limit_bytes} bytes.")
    return Publication(
        recipients=tuple(_agent(name) for name in recipients),
        project=project,
        type=str(said),
        payload=text,
        priority=priority,
        reply_to=None if reply_to is None else _agent(reply_to),
        available_at=_instant("available_at", available_at),
        delay_seconds=delay_seconds,
        expires_at=_instant("expires_at", expires_at),
        expires_in_seconds=expires_in_seconds,
        max_attempts=max_attempts,
        corrects=corrected,
        idempotency_key=idempotency_key,
        report=frozenset(report),
        correlation_id=correlation_id,
        causation_id=causation_id,
        ordering_key=ordering_key,
        supersedes_key=supersedes_key,
    )


def _check(name: str, holds: object, fault: str) -> None:
    if not holds:
        raise ValidationFailed.at(f"/{name}", fault)


def _key(name: str, text: str | None, most: int) -> None:
    if text is not None:
        _check(name, 1 <= len(text) <= most, f"must have 1 to {most} characters")
        _check(name, is_tidy(text), UNTIDY)


def _within(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _agent(text: str) -> bytes:
    raw = decode_id(Prefix.AGENT, text)
    if raw is None:
        raise RecipientRefused(recipients=[text])
    return raw


def _instant(name: str, moment: datetime | None) -> datetime | None:
    """As the database keeps it."""
    if moment is None:
        return None
    _check(name, moment.tzinfo is not None, "must say its offset")
    return moment.astimezone(UTC).replace(tzinfo=None)
