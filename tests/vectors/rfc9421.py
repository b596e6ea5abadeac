"""The vectors of RFC 9421, RFC 9530 and the contract's profile, as values. Test keys: for tests only."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

from restante.identity.signatures.keys import Algorithm, VerifyingKey
from restante.identity.signatures.message import Message

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "rfc9421.json").read_text())
PROFILE: dict[str, dict[str, Any]] = {v["id"]: v for v in DATA["profile_vectors"]}
SERVER_REFUSES = frozenset({"PV-73"})
"""What no application sees: a server ends it before."""
AUTHORITIES = {"PV-08": "inbox.example.com:8443"}
"""Under which authority the server of a vector is known, where it is not the usual one."""


def origin_of(vector_id: str) -> str:
    """The public URL of the server that a vector is for."""
    return f"https://{AUTHORITIES.get(vector_id, 'inbox.example.com')}"


def profile_keys(*, active_only: bool = True) -> dict[str, VerifyingKey]:
    """The keys of the profile's agents by id, whoever their owners are."""
    return {
        key["keyid"]: VerifyingKey.of(
            key["keyid"], Algorithm(key["alg"]), load_pem_public_key(key["public_pem"].encode())
        )
        for key in DATA["profile_keys"]
        if key["status"] == "active" or not active_only
    }


def private_key(key_id: str) -> Any:
    """The private key of one of the profile's agents."""
    (pem,) = (k["private_pem"] for k in DATA["profile_keys"] if k["keyid"] == key_id)
    return load_pem_private_key(pem.encode(), password=None)


def content_of(message: dict[str, Any]) -> bytes:
    """The body of a vector's message."""
    if "body_b64" in message:
        return base64.b64decode(message["body_b64"])
    text: str = message.get("body", "")
    return text.encode()


def message_of(message: dict[str, Any], *, origin: str) -> Message:
    """A vector's message as the engine takes it."""
    fields: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in message["headers"]:
        fields[name.lower()].append(value)
    return Message(
        method=message["method"],
        target=message["target"],
        host=message["authority"],
        origin=origin,
        fields=fields,
    )
