"""Tokens that are sent with push notifications: whose right they lend, for which inbox, for how long.

Sealed, not kept: a token is good while the credential it was made with, its maker and his grants are. It
says nothing to whoever reads it, and is of no use anywhere else.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from restante.identity.principal import PrincipalKind
from restante.identity.scopes import parse_scope
from restante.identity.sealing import SealBroken, Sealer
from restante.identity.tokens import Claims

PREFIX = "rsta_"  # so that scanners of logs know one when they see it
_PURPOSE, _CONTEXT = "a2a receivers", "notification"


@dataclass(frozen=True, slots=True)
class Receiver:
    """`lender`: as whom it publishes, and with which scopes. `expires_at`: seconds since 1970."""

    lender: Claims
    recipient_id: bytes
    project: str

    @property
    def expires_at(self) -> float:
        return self.lender.expires_at


class Receivers:
    """Makes and reads the tokens."""

    def __init__(self, secret_keys: Sequence[str]) -> None:
        self._sealer = Sealer(secret_keys, _PURPOSE)

    def token(self, receiver: Receiver) -> str:
        """The token of a receiver."""
        lender = receiver.lender
        told = {
            "token": lender.token_id,
            "principal": lender.principal_id.hex(),
            "kind": lender.kind,
            "credential": lender.credential_id.hex(),
            "scopes": sorted(map(str, lender.scopes)),
            "issued_at": lender.issued_at,
            "expires_at": lender.expires_at,
            "recipient": receiver.recipient_id.hex(),
            "project": receiver.project,
        }
        return _text(self._sealer.seal(orjson.dumps(told), _CONTEXT))

    def read(self, token: str, *, now: float) -> Receiver | None:
        """What a token stands for; None for one that was not made here, or is over."""
        text = token.removeprefix(PREFIX)
        try:
            box = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            told = orjson.loads(self._sealer.open(box, _CONTEXT))
        except (binascii.Error, ValueError, SealBroken):
            return None
        # padding and unused bits say nothing, and were not given out
        if _text(box) != token or told["expires_at"] <= now:
            return None
        scopes = (parse_scope(text) for text in told["scopes"])
        return Receiver(
            lender=Claims(
                token_id=told["token"],
                kid="",
                principal_id=bytes.fromhex(told["principal"]),
                kind=PrincipalKind(told["kind"]),
                credential_id=bytes.fromhex(told["credential"]),
                scopes=frozenset(scope for scope in scopes if scope is not None),
                issued_at=told["issued_at"],
                expires_at=told["expires_at"],
            ),
            recipient_id=bytes.fromhex(told["recipient"]),
            project=told["project"],
        )

    def lender(self, token: str, now: float) -> Claims | None:
        """Whose right such a token lends; None as for `read`."""
        receiver = self.read(token, now=now)
        return None if receiver is None else receiver.lender


def _text(box: bytes) -> str:
    return PREFIX + base64.urlsafe_b64encode(box).rstrip(b"=").decode()
