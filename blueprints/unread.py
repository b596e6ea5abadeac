"""Requests that never come to the application: what the server beneath refuses, told as a problem."""

from __future__ import annotations

import uuid
from http import HTTPStatus

import orjson
from flask import Flask

from blueprints.problems import (
    KINDS,
    MEDIA_TYPE,
    InternalError,
    UnreadableRequest,
    members_of,
)
from restante.errors import RestanteError

EXTENSION = "restante.unread"
_ERRORS: tuple[type[RestanteError], ...] = (InternalError, *UnreadableRequest.__subclasses__())
_BY_STATUS = {KINDS[error].status: error for error in _ERRORS}


def install(app: Flask) -> None:
    """Leave the answers where the server finds them."""
    app.extensions[EXTENSION] = answer


def answer(status: int) -> bytes:
    """The whole answer, after which the connection is closed.

    `status`: what the server beneath would say; one that is no kind of problem becomes 400.
    """
    members = members_of(_BY_STATUS.get(status, UnreadableRequest)())
    said = HTTPStatus(members["status"])
    request_id = uuid.uuid4()
    members |= {"instance": request_id.urn, "request_id": request_id.hex}
    body = orjson.dumps(members)
    head = (
        f"HTTP/1.1 {said} {said.phrase}\r\n"
        "Connection: close\r\n"
        f"Content-Type: {MEDIA_TYPE}\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\n"
        f"X-Request-Id: {request_id.hex}\r\n"
        "\r\n"
    )
    return head.encode() + body
