"""Calls that are signed, and what tests of them need."""

from __future__ import annotations

from typing import Any

from werkzeug.test import TestResponse

from tests.http.signing import Signer
from tests.http.world import Caller

CLAIM = b'{"limit": 1}'
JSON = {"Content-Type": "application/json"}
AUTHORITY = "inbox.example.com"


def minted(caller: Caller) -> Signer:
    made = caller.post("A/signing-keys", {})
    assert made.status_code == 201, made.text
    return Signer(made.json["key_id"], made.json["secret"], AUTHORITY)


def signed(
    caller: Caller,
    signer: Signer,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    sent: dict[str, Any] | None = None,
    fields: dict[str, str] | None = None,
    **how: Any,
) -> TestResponse:
    """The answer to a signed call; `sent` and `fields` say what is sent otherwise than signed."""
    made = signer.fields(method, caller.address(path), body, **how)
    given = {"method": method, "path": path, "data": body, **(sent or {})}
    headers = {"Host": AUTHORITY, **(JSON if body else {}), **made, **(fields or {})}
    return caller.call(
        given["method"],
        given["path"],
        data=given["data"],
        headers={name: value for name, value in headers.items() if value},
    )


def told(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json["type"].rpartition("/")[2]
