"""The parts of a JWT, read strictly: one spelling of each byte, no member of an object twice. Pure."""

from __future__ import annotations

import binascii
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any


def decoded(part: str) -> bytes:
    """The bytes of a part; ValueError where another spelling of them would be the canonical one."""
    try:
        content = urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except binascii.Error:
        raise ValueError("base64url") from None
    if urlsafe_b64encode(content).rstrip(b"=").decode() != part:
        raise ValueError("base64url")
    return content


def json_object(content: bytes) -> dict[str, Any]:
    """A JSON object; ValueError, TypeError or RecursionError for anything else."""
    found = json.loads(content, object_pairs_hook=_members)
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member twice")
    return members
