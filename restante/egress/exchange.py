"""One request as bytes (RFC 9112), for a line that is closed after its answer.

It is put together here, so the bytes that were signed are the bytes sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from restante.egress.answer import TOKEN
from restante.egress.url import Target

_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?|")
# what frames the message, or would change whom it is for
OURS = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "cookie", "expect", "host"),
        *("keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)


def request_bytes(
    method: str, target: Target, *, fields: Mapping[str, str], body: bytes | None
) -> bytes:
    """The request; ValueError for a method or field that may not be sent."""
    if not TOKEN.fullmatch(method):
        raise ValueError(f"{method!r} is no method")
    lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}"]
    for name, value in fields.items():
        if not TOKEN.fullmatch(name) or name.lower() in OURS or not _VALUE.fullmatch(value):
            raise ValueError(f"the field {name!r} may not be sent with {value!r}")
        lines.append(f"{name}: {value}")
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    lines += ["Accept-Encoding: identity", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("ascii") + (body or b"")
