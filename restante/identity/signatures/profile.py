"""What a signature has to cover and to say, before anybody looks for its key."""

from __future__ import annotations

from dataclasses import dataclass

from restante.identity.signatures.fields import Offered
from restante.identity.signatures.message import Message
from restante.identity.signatures.refusals import (
    SignatureComponentMissing,
    SignatureExpired,
    SignatureNonceInvalid,
    SignatureNotYetValid,
    SignatureParamMissing,
    SignatureWindowInvalid,
    SignatureWindowTooLong,
)

COMPONENTS = ("@method", "@authority", "@path", "content-digest")
QUERY = "@query"
PARAMETERS = ("created", "expires", "keyid", "nonce")
WINDOW_SECONDS = 300
SKEW_SECONDS = 30
"""How far `created` may lie ahead of our clock."""
NONCE_LENGTHS = range(16, 129)


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of the profile; instants in seconds since 1970. `alg` need not be named."""

    created: int
    expires: int
    keyid: str
    nonce: str
    alg: str | None


def required_components(*, has_query: bool) -> tuple[str, ...]:
    """Those that a signature has to cover, whole and as they are."""
    return (*COMPONENTS[:3], QUERY, *COMPONENTS[3:]) if has_query else COMPONENTS


def check_coverage(offered: Offered, message: Message) -> None:
    """Raise SignatureComponentMissing where a component of the profile is not covered."""
    covered = {c.name for c in offered.components if not c.parameters}
    for name in required_components(has_query=message.has_query):
        if name not in covered:
            raise SignatureComponentMissing(f"The signature does not cover `{name}`.")


def check_parameters(offered: Offered, now: float) -> Parameters:
    """The parameters, good at this time (seconds since 1970); the refusal that fits where not."""
    given = offered.parameters
    for name in PARAMETERS:
        if name not in given:
            raise SignatureParamMissing(f"The signature lacks the parameter `{name}`.")
    found = Parameters(
        created=given["created"],
        expires=given["expires"],
        keyid=given["keyid"],
        nonce=given["nonce"],
        alg=given.get("alg"),
    )
    if len(found.nonce) not in NONCE_LENGTHS:
        raise SignatureNonceInvalid
    if found.expires <= found.created:
        raise SignatureWindowInvalid
    if found.expires - found.created > WINDOW_SECONDS:
        raise SignatureWindowTooLong
    if found.created > now + SKEW_SECONDS:
        raise SignatureNotYetValid
    if found.expires < now:
        raise SignatureExpired
    return found


def accept_signature(*, has_query: bool) -> str:
    """The Accept-Signature field that asks for such a signature (RFC 9421, section 5.1)."""
    names = " ".join(f'"{name}"' for name in required_components(has_query=has_query))
    return f"sig1=({names});created;expires"
