"""What a call may do, as one value: made of the settings once, asked at every verdict."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from restante.egress.allowance import Allowance, Own
from restante.egress.url import Target

PORTS = frozenset({443, 8443})


class Purpose(StrEnum):
    """Who wants to call out: a tenant's callback, or the operator's identity provider."""

    CALLBACK = "callback"
    OIDC = "oidc"


ANSWER_BYTES = {Purpose.CALLBACK: 4 * 1024, Purpose.OIDC: 512 * 1024}


@dataclass(frozen=True, slots=True)
class Policy:
    """Where calls may go (contract section 7)."""

    ports: frozenset[int] = PORTS
    allowance: Allowance = field(default_factory=Allowance)
    own: Own = field(default_factory=Own)
    issuer: Target | None = None

    def is_issuer(self, target: Target, purpose: Purpose) -> bool:
        """Whether this is the issuer's host, asked for OIDC."""
        return (
            purpose is Purpose.OIDC and self.issuer is not None and target.host == self.issuer.host
        )

    def is_named(self, target: Target, purpose: Purpose) -> bool:
        """Whether the operator named this very host, so that all but metadata and ourselves is lifted."""
        entry = (target.host, target.port)
        return entry in self.allowance.hosts or self.is_issuer(target, purpose)

    def is_secure(self, target: Target, purpose: Purpose) -> bool:
        """Whether the scheme will do: https, or http to an issuer that is configured so on loopback."""
        if target.scheme == "https":
            return True
        issuer = self.issuer
        return (
            issuer is not None
            and issuer.scheme == "http"
            and target.is_loopback
            and self.is_issuer(target, purpose)
        )

    def is_own(self, target: Target, purpose: Purpose) -> bool:
        """Whether the text of the URL says ourselves, whatever is allowed.

        An identity provider may live at another port of our host: for it the origin counts.
        """
        if target.is_loopback and target.port == self.own.loopback_port:
            return True
        if self.is_issuer(target, purpose):
            return (target.host, target.port) == self.own.origin
        return target.host in self.own.hosts
