"""The numbers an installation may set. They travel in `session.info`, so that verbs read no settings."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

RULES = "restante.rules"
"""Key of `session.info`; put there by Database(info=…)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Defaults are those of the contract (sections 2, 3, 5 and 8)."""

    lease_seconds: int = 60
    max_attempts: int = 5
    max_releases: int = 100
    max_pending: int = 100_000
    max_in_flight: int = 1_000
    max_payload_bytes: int = 256 * 1024
    retention_seconds: float = 30 * 86_400
    retention_keeps_unsettled: bool = False


_DEFAULT = Rules()

MAX_CLAIM_SECONDS = 86_400
"""How long a claim lasts in all, renewals included."""

PAGE_BYTES = 4 * 1024 * 1024
"""Payload bytes after which a page or a claim ends, never below one event."""

PAGE_EXAMINED = 2_000
"""Events after which a page ends, found or not."""


def rules(session: Session) -> Rules:
    """The rules of this session's database."""
    found: Rules = session.info.get(RULES, _DEFAULT)
    return found
