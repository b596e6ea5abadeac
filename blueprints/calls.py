"""One call of an endpoint, and what it is answered with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flask import Request, Response
from orjson import dumps

from restante.errors import NotFound
from restante.identity.principal import Principal
from restante.identity.tokens import Claims
from restante.storage.ids import Prefix, decode_id

JSON = "application/json"
NO_STORE = {"Cache-Control": "no-store"}


class Call:
    """A request that has been let in and read. `claims`: its token's; `text`: its body as it came."""

    __slots__ = ("body", "claims", "path", "principal", "query", "request", "text")

    # what the endpoint's models made; each handler knows its own
    body: Any
    query: Any

    def __init__(
        self, request: Request, claims: Claims, principal: Principal, path: dict[str, str]
    ) -> None:
        self.request = request
        self.claims = claims
        self.principal = principal
        self.path = path
        self.text = b""

    def event_id(self) -> bytes:
        """The event of the path; one that does not decode is one that is not there."""
        raw = decode_id(Prefix.EVENT, self.path["event_id"])
        if raw is None:
            raise NotFound
        return raw


@dataclass(frozen=True, slots=True)
class Reply:
    """`content`: what orjson writes, or the bytes themselves. `empty`: a held call may go on waiting."""

    content: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: NO_STORE)
    empty: bool = False
    media_type: str = JSON

    def response(self) -> Response:
        """As Flask sends it."""
        content = self.content if type(self.content) is bytes else dumps(self.content)
        return Response(
            content, self.status, [("Content-Type", self.media_type), *self.headers.items()]
        )
