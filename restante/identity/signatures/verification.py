"""A signed request, checked in the contract's order: fields, key, signature, digest, nonce."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from restante.identity.signatures.base import signature_base
from restante.identity.signatures.digests import check_digest
from restante.identity.signatures.fields import read_signature
from restante.identity.signatures.keys import VerifyingKey
from restante.identity.signatures.message import Message
from restante.identity.signatures.profile import (
    Parameters,
    check_coverage,
    check_parameters,
)
from restante.identity.signatures.refusals import (
    SignatureAlgMismatch,
    SignatureInvalid,
    SignatureNonceReplayed,
    SignatureUnknownKey,
)


@dataclass(frozen=True, slots=True)
class Spending:
    """A nonce to be spent: by which key, and until when (seconds since 1970) it has to be known."""

    key: VerifyingKey
    nonce: str
    expires: int


FindKey = Callable[[str], VerifyingKey | None]
ReadContent = Callable[[], bytes]
SpendNonce = Callable[[Spending], bool]


def verify(
    message: Message,
    *,
    now: float,
    find_key: FindKey,
    read_content: ReadContent,
    spend_nonce: SpendNonce,
) -> VerifyingKey:
    """The key that signed the request; a SignatureRefused or DigestRefused where it does not hold.

    `now`: seconds since 1970. `find_key`: the live key of that id of this caller, if any.
    `read_content`: the body as it came, asked for once the signature holds. `spend_nonce`: whether
    the nonce was new for its key; asked last, so that nobody else can use one up.
    """
    offered = read_signature(message.fields)
    base = signature_base(offered, message)
    check_coverage(offered, message)
    parameters = check_parameters(offered, now)
    key = _key(parameters, find_key)
    if not message.is_for_us:
        raise SignatureInvalid("The request was sent to another authority than this server's.")
    if not key.verifies(offered.signature, base):
        raise SignatureInvalid
    check_digest(message.fields["content-digest"], read_content())
    spending = Spending(key, parameters.nonce, parameters.expires)
    if parameters.created < key.since or not spend_nonce(spending):
        raise SignatureNonceReplayed
    return key


def _key(parameters: Parameters, find_key: FindKey) -> VerifyingKey:
    key = find_key(parameters.keyid)
    if key is None:
        raise SignatureUnknownKey
    if parameters.alg is not None and parameters.alg != key.algorithm:
        raise SignatureAlgMismatch
    return key
