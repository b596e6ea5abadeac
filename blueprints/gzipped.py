"""A reply that is compressed for those who take it so: for what is large and asked for seldom."""

from __future__ import annotations

import gzip
from dataclasses import dataclass

from flask import Request, Response
from orjson import dumps

from blueprints.calls import JSON, Reply

LEAST_BYTES = 1_024
# JSON shrinks to a fifth at the lowest, and the worker has others to serve
LEVEL = 1


@dataclass(frozen=True, slots=True)
class GzippedReply(Reply):
    """`zips`: whether the caller takes gzip."""

    zips: bool = False

    def response(self) -> Response:
        """As Flask sends it; made once the unit of work is over."""
        text = dumps(self.content)
        headers = [("Content-Type", JSON), ("Vary", "Accept-Encoding"), *self.headers.items()]
        if self.zips and len(text) >= LEAST_BYTES:
            text = gzip.compress(text, LEVEL, mtime=0)
            headers.append(("Content-Encoding", "gzip"))
        return Response(text, self.status, headers)


def takes_gzip(request: Request) -> bool:
    """Whether Accept-Encoding names gzip, or anything (RFC 9110, section 12.5.3)."""
    return request.accept_encodings.quality("gzip") > 0
