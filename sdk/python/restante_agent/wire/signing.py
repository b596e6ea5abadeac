"""Whether a client signs, with which key, and when it needs another: decisions without I/O."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Protocol

from restante_agent import instants, jsontext
from restante_agent.errors import UnexpectedAnswer
from restante_agent.wire.signature import Pen, SigningKey, hmac_key
from restante_agent.wire.step import Answer

log = logging.getLogger("restante_agent")

KEYS_PATH = "/signing-keys"
OVERLAP_SECONDS = 6 * 3600
"""A minted key is followed by its successor so long before its end."""
DAY_SECONDS = 86_400
_CLOCK = ("signature-expired", "signature-not-yet-valid")


@dataclass(frozen=True, slots=True)
class Minted:
    """A shared secret of the server's; `renew_at`, seconds since 1970 by this machine's clock."""

    key_id: str
    secret: str = field(repr=False)
    renew_at: float


class KeptKeys(Protocol):
    """Where an agent's processes keep the key they share."""

    def read(self) -> Minted | None:
        """The one that is kept."""

    def write(self, key: Minted) -> None:
        """Keep this one."""


@dataclass(slots=True)
class Signing:
    """One client's signing. `wanted` None: as soon as the server asks for it.

    `own`: a key of the caller's own, which is never replaced. `offset`: the server's clock less ours.
    """

    wanted: bool | None = None
    own: SigningKey | None = None
    minted: Minted | None = None
    offset: float = 0.0

    def pen(self, now: float, rejected: str | None) -> Pen | None:
        """What to sign with at our time `now`; None: a key has to be found or made first."""
        if self.own is not None:
            return Pen(self.own, int(now + self.offset))
        key = self.minted
        if key is None or key.key_id == rejected or now >= key.renew_at:
            return None
        return Pen(hmac_key(key.key_id, key.secret), int(now + self.offset))

    def take(self, found: Minted | None, now: float, rejected: str | None) -> Pen | None:
        """The same with a key that was kept elsewhere, where it is still good."""
        if found is not None and found.key_id != rejected and now < found.renew_at:
            self.minted = found
        return self.pen(now, rejected)

    def mends(self, slug: str, headers: Mapping[str, str], pen: Pen | None) -> bool:
        """Whether a request that was refused with this problem may be repeated, signed otherwise."""
        if pen is None:
            if slug == "signature-missing" and self.wanted is None:
                self.wanted = True
            # another thread may have learnt it meanwhile
            return slug == "signature-missing" and bool(self.wanted)
        if slug in _CLOCK:
            return self._set_clock(headers, pen)
        if slug != "signature-unknown-key" or self.own is not None:
            return False
        if self.minted is not None and self.minted.key_id == pen.key.key_id:
            self.minted = None
        return True

    def has(self, key_id: str) -> bool:
        """Whether it would sign with that key."""
        return self.own is not None or (self.minted is not None and self.minted.key_id == key_id)

    def _set_clock(self, headers: Mapping[str, str], pen: Pen) -> bool:
        """Go by the server's clock from now on (its Date field); whether it tells one."""
        told = _date(headers)
        if told is None:
            return False
        self.offset += told - pen.now
        log.warning("signing by the server's clock: this machine's is off by %.0f s", -self.offset)
        return True


def minted_from(answer: Answer, now: float) -> Minted:
    """The key of a 201 that came at our time `now`. Its life is told by the server's clock alone."""
    try:
        members = jsontext.loads(answer.content)
        ends_at = instants.parse(members["expires_at"]).timestamp()
        key_id, secret = str(members["key_id"]), str(members["secret"])
    except (ValueError, KeyError, TypeError) as error:
        raise UnexpectedAnswer("a signing key was asked for and none came") from error
    begins_at = _date(answer.headers)
    life = DAY_SECONDS if begins_at is None else ends_at - begins_at
    return Minted(key_id, secret, now + max(life - OVERLAP_SECONDS, life / 2))


def _date(headers: Mapping[str, str]) -> float | None:
    try:
        return parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, TypeError, ValueError):
        return None
