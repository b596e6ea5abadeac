"""The examples of RFC 9421 and RFC 9530: what is signed, that it verifies, and what a digest is of."""

from __future__ import annotations

import base64
from collections import defaultdict
from contextlib import suppress
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from restante.identity.signatures.base import component_value, signature_base
from restante.identity.signatures.digests import ALGORITHMS, check_digest
from restante.identity.signatures.fields import Component, Offered, read_signature
from restante.identity.signatures.keys import Algorithm, VerifyingKey
from restante.identity.signatures.message import Message
from restante.identity.signatures.refusals import DigestMalformed, DigestMismatch, DigestUnsupported
from tests.vectors import rfc9421 as vectors

SIGNATURES = [
    v
    for v in vectors.DATA["rfc9421_signature_vectors"]
    if v["alg"] in set(Algorithm) and v["message"] == "test-request"
]


def key_of(vector: dict[str, Any]) -> VerifyingKey:
    key = vectors.DATA["keys"][vector["keyid"]]
    material = (
        load_pem_public_key(key["public_pem"].encode())
        if "public_pem" in key
        else base64.b64decode(key["secret_b64"])
    )
    return VerifyingKey.of(vector["keyid"], Algorithm(vector["alg"]), material)


def offered_of(vector: dict[str, Any]) -> tuple[Offered, Message]:
    message = dict(vectors.DATA["messages"][vector["message"]])
    message["headers"] = [
        *message["headers"],
        ("Signature-Input", vector["signature_input"]),
        ("Signature", vector["signature"]),
    ]
    found = vectors.message_of(message, origin="https://example.com")
    return read_signature(found.fields), found


@pytest.mark.parametrize("vector", SIGNATURES, ids=lambda v: v["id"])
def test_an_example_of_the_rfc_verifies(vector: dict[str, Any]) -> None:
    offered, message = offered_of(vector)
    base = signature_base(offered, message)
    assert base.decode() == vector["signature_base"]
    assert key_of(vector).verifies(offered.signature, base)
    assert not key_of(vector).verifies(offered.signature, base + b" ")


@pytest.mark.parametrize("case", vectors.DATA["rfc9421_canonicalization"], ids=lambda c: c["id"])
def test_a_component_is_written_as_the_rfc_writes_it(case: dict[str, Any]) -> None:
    asked = case.get("request", {"method": "GET", "target": "/", "authority": "www.example.com"})
    fields: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in case.get("headers", ()):
        fields[name.lower()].append(value)
    message = Message(
        asked["method"], asked["target"], asked["authority"], "https://www.example.com", fields
    )
    listed = f"sig=({' '.join(case['components'])})"
    read = read_signature({"signature-input": [listed], "signature": ["sig=:AA==:"]})
    lines = [f"{c}: {component_value(c, message)}" for c in read.components]
    assert lines == case["lines"]


@pytest.mark.parametrize("vector", vectors.DATA["rfc9530_digest_vectors"], ids=lambda v: v["id"])
def test_a_digest_of_the_rfc(vector: dict[str, Any]) -> None:
    content = base64.b64decode(vector["content_b64"])
    assert vector["expected"] == "match"
    if vector["algorithm"] not in ALGORITHMS:  # the RFC knows insecure ones too
        with pytest.raises(DigestUnsupported):
            check_digest([vector["field_value"]], content)
        return
    check_digest([vector["field_value"]], content)
    with pytest.raises(DigestMismatch):
        check_digest([vector["field_value"]], content + b" ")


def test_the_examples_of_the_rfc_that_are_wrong() -> None:
    padding, mixed = vectors.DATA["rfc9530_known_bad_examples"]
    content = base64.b64decode(mixed["content_b64"])
    with pytest.raises(DigestMismatch):
        check_digest([mixed["field_value"]], content)
    with suppress(DigestMalformed):  # either is right; nothing else is
        check_digest([padding["field_value"]], base64.b64decode(padding["content_b64"]))


def test_the_signature_of_a_response_is_of_the_text_that_the_rfc_prints() -> None:
    """B.2.4 signs a response, which nobody sends us: what is ours of it is the algorithm."""
    (vector,) = (v for v in vectors.DATA["rfc9421_signature_vectors"] if v not in SIGNATURES)
    signature, base = base64.b64decode(vector["signature_b64"]), vector["signature_base"].encode()
    assert key_of(vector).verifies(signature, base)
    assert not key_of(vector).verifies(signature[:-1] + b"\0", base)


def test_components_are_told_apart_whatever_the_order_of_their_parameters() -> None:
    one = Component("example", {"key": "a", "sf": True})
    other = Component("example", {"sf": True, "key": "a"})
    assert one.identity == other.identity
    assert str(one) != str(other)
