"""Signature and Signature-Input, read as one pair (RFC 9421, section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import http_sf
from http_sf.innerlist import ser_innerlist

from restante.identity.signatures.message import field_value
from restante.identity.signatures.refusals import (
    SignatureAmbiguous,
    SignatureMalformed,
    SignatureMissing,
)

INPUT = "signature-input"
SIGNATURE = "signature"
_TYPES: dict[str, type] = {
    "created": int,
    "expires": int,
    "keyid": str,
    "nonce": str,
    "alg": str,
    "tag": str,
}

Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Component:
    """A covered component: its name and its parameters."""

    name: str
    parameters: Parameters

    @property
    def identity(self) -> tuple[str, frozenset[tuple[str, Any]]]:
        """What may stand once in a signature; the order of parameters does not tell two apart."""
        return self.name, frozenset(self.parameters.items())

    def __str__(self) -> str:
        return http_sf.ser((self.name, dict(self.parameters)))


@dataclass(frozen=True, slots=True)
class Offered:
    """The signature that a request brings, read and not yet judged.

    `text`: its components and parameters as they stand in the signature base.
    """

    components: tuple[Component, ...]
    parameters: Parameters
    text: str
    signature: bytes


def is_signed(fields: Mapping[str, Sequence[str]]) -> bool:
    """Whether the request brings any part of a signature."""
    return INPUT in fields or SIGNATURE in fields


def read_signature(fields: Mapping[str, Sequence[str]]) -> Offered:
    """The one signature. Raises SignatureMissing, SignatureMalformed and SignatureAmbiguous."""
    if not is_signed(fields):
        raise SignatureMissing
    inputs = _dictionary(fields.get(INPUT, ()), "Signature-Input")
    signatures = _dictionary(fields.get(SIGNATURE, ()), "Signature")
    if inputs.keys() != signatures.keys():
        raise SignatureMalformed("Signature and Signature-Input have not the same labels.")
    if len(inputs) > 1:
        raise SignatureAmbiguous
    ((label, (members, parameters)),) = inputs.items()
    signature = signatures[label][0]
    if not isinstance(members, list):
        raise SignatureMalformed("Signature-Input holds no list of components.")
    if type(signature) is not bytes:
        raise SignatureMalformed("Signature holds no byte sequence.")
    for name, kind in _TYPES.items():
        if name in parameters and type(parameters[name]) is not kind:
            wanted = "an integer" if kind is int else "a string"
            raise SignatureMalformed(f"The parameter `{name}` must be {wanted}.")
    components = []
    for name, own in members:
        if type(name) is not str:
            raise SignatureMalformed("Names of components must be strings.")
        components.append(Component(name, own))
    return Offered(tuple(components), parameters, ser_innerlist((members, parameters)), signature)


def read_dictionary(text: str) -> dict[str, Any]:
    """A dictionary field (RFC 8941, section 3.2), in which nothing stands twice. Raises ValueError."""
    found = http_sf.parse(text.encode("latin-1"), tltype="dictionary", on_duplicate_key=_twice)
    if not isinstance(found, dict) or not found:
        raise ValueError("empty")
    return found


def _dictionary(lines: Sequence[str], name: str) -> dict[str, Any]:
    if not lines:
        raise SignatureMalformed(f"{name} is missing beside the other field.")
    try:
        return read_dictionary(field_value(lines))
    except ValueError:
        raise SignatureMalformed(f"{name} cannot be read.") from None


def _twice(key: str, context: str) -> NoReturn:
    raise ValueError("twice")
