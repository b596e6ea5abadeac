"""Entries: what may stand in the audit, and nothing else may. Pure.

There is no member for anything but names, ids and a sentence, and text is cleaned when an entry is
made: what looks like a secret does not come through, whoever wrote it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from restante.audit.actions import Action, ActorKind, Outcome

REASON_CHARACTERS = 500
NAME_CHARACTERS = 190
REMOVED = "[removed]"
_SECRET = re.compile(
    r"""
      rst[a-z]*_[A-Za-z0-9_-]{8,}                                   # every secret we make
    | whsec_[A-Za-z0-9+/=_-]+                                       # Standard Webhooks
    | eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]*\.?[A-Za-z0-9_.-]*           # a JWT
    | -----BEGIN[ ][A-Z ]*KEY-----.*                                # PEM
    | "(?:d|k|p|q|dp|dq|qi)"\s*:\s*"[^"]*"                          # the private half of a JWK
    | (?i:\b(?:basic|bearer)[ ]+[A-Za-z0-9+/=_.~-]{8,})             # an Authorization field
    | (?i:\b(?:client_secret|client_assertion|refresh_token|access_token|device_code|user_code
          |password|secret|token)\s*[=:]\s*\S+)                     # a form or a log line
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it. `id`: the public id, or what was claimed; an e-mail only where there is no id."""

    kind: ActorKind
    id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", _clean(self.id, NAME_CHARACTERS))


@dataclass(frozen=True, slots=True)
class Origin:
    """Who does something, from which address, by which request: what verbs are handed as `by`."""

    actor: Actor
    address: str | None = None
    request_id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "address", _ascii(self.address, 45))
        object.__setattr__(self, "request_id", _ascii(self.request_id, 128))


@dataclass(frozen=True, slots=True)
class Entry:
    """Something done or refused. `tenant_id` None: it concerns the platform, or nobody knows whom.

    `target`: a public id, or the id of a tenant's member and a name (`project:p1`). `reason`: a
    sentence a person gave, or what was assigned; cut at 500 characters, never a secret.
    """

    tenant_id: bytes | None
    by: Origin
    action: Action
    target: str | None = None
    outcome: Outcome = Outcome.DONE
    reason: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", _clean(self.target, NAME_CHARACTERS))
        object.__setattr__(self, "reason", _clean(self.reason, REASON_CHARACTERS))


def _clean(text: str | None, most: int) -> str | None:
    """Printable, without what looks like a secret, not too long; None where nothing is left."""
    if text is None:
        return None
    found = _SECRET.sub(REMOVED, text[: 10 * most])
    shown = "".join(c if c.isprintable() else " " for c in found)
    return " ".join(shown.split())[:most].strip() or None


def _ascii(text: str | None, most: int) -> str | None:
    cleaned = _clean(text, most)
    return None if cleaned is None else cleaned.encode("ascii", "replace").decode()


IN_PROCESS = Origin(Actor(ActorKind.APPLICATION))
SERVER = Origin(Actor(ActorKind.SERVER))
