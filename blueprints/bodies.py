"""Reading what a request says: its JSON object, its parameters, its headers; all faults at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from flask import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from blueprints.problems import BodyTooLarge, MalformedJson, UnsupportedMediaType
from blueprints.raw_json import MOST_PARTS, Crowded, NoObject, read_object
from blueprints.signatures import lines_of
from restante.errors import RestanteError, ValidationFailed
from restante.identity.names import NO_REASON, SAYS_WHY, TIDY, UNTIDY
from restante.trace_context import read_traceparent

M = TypeVar("M", bound=BaseModel)
RAW = frozenset({"payload", "result", "progress"})
"""Members that are kept byte for byte, wherever they stand in an envelope; a body may have others."""

MOST_ERRORS = 100
_CONTENT = "restante.content"
_JSON = re.compile(r'application/json(\s*;\s*charset="?utf-?8"?)?\s*;?\s*', re.IGNORECASE)
_KEY = re.compile(r"[!-~](?:[ -~]{0,126}[!-~])?")
_COUNTED = re.compile(r" after validation, not (?:\d+|more)$")
_PATTERNS = {TIDY: UNTIDY, SAYS_WHY: NO_REASON}

_TOLD = {
    "extra_forbidden": "is not known here: remove it",
    "missing": "is required",
    "int_type": "must be an integer",
    "bool_type": "must be true or false",
    "string_type": "must be a string",
    "float_type": "must be a number",
    "dict_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "list_type": "must be an array",
    "tuple_type": "must be an array",
}


def read_content(request: Request, limit: int) -> bytes:
    """The body as it came, whatever it is; kept for `read_bytes`. Raises BodyTooLarge and MalformedJson."""
    environ = request.environ
    content = environ[_CONTENT] = _whole(environ, _announced(environ, limit), limit)
    return content


def has_no_body(request: Request) -> bool:
    """Whether the request announces no body."""
    environ = request.environ
    is_empty = environ.get("CONTENT_LENGTH") in (None, "", "0")
    return is_empty and "HTTP_TRANSFER_ENCODING" not in environ


def media_type(request: Request) -> str:
    """What the body says it is, without parameters."""
    kind: str = request.environ.get("CONTENT_TYPE", "")
    return kind.partition(";")[0].strip().lower()


def read_bytes(request: Request, limit: int, also: Container[str] = ()) -> bytes:
    """The body. Raises BodyTooLarge, before reading it all, UnsupportedMediaType and MalformedJson.

    `also`: media types that are taken besides `application/json`.
    """
    environ = request.environ
    length = _announced(environ, limit)
    kind = environ.get("CONTENT_TYPE", "")
    is_json = not kind or kind == "application/json" or _JSON.fullmatch(kind)
    if not is_json and media_type(request) not in also:
        raise UnsupportedMediaType
    if environ.get("HTTP_CONTENT_ENCODING", "identity").lower() != "identity":
        raise UnsupportedMediaType("The body must be sent as it is, without a Content-Encoding.")
    text: bytes | None = environ.get(_CONTENT)
    if text is None:
        text = _whole(environ, length, limit)
    if not text:
        raise MalformedJson(
            "The body is empty; send a JSON object, {} where there is nothing to say."
        )
    if not kind:
        raise UnsupportedMediaType
    return text


def _announced(environ: dict[str, Any], limit: int) -> int | None:
    announced = environ.get("CONTENT_LENGTH", "")
    length = int(announced) if announced.isdecimal() and len(announced) < 19 else None
    if length is not None and length > limit:
        raise BodyTooLarge(f"The body may have {limit} bytes.", limit_bytes=limit)
    return length


def _whole(environ: dict[str, Any], length: int | None, limit: int) -> bytes:
    try:
        return _read(environ, length, limit)
    except RestanteError:
        raise
    except Exception as error:  # of the server's own classes: wrong chunks, a lost connection
        raise MalformedJson("The body could not be read to its end.") from error


def _read(environ: dict[str, Any], length: int | None, limit: int) -> bytes:
    if length is None:
        # chunked: the server says where it ends; one that does not has no body for us
        if not environ.get("wsgi.input_terminated"):
            return b""
        text: bytes = environ["wsgi.input"].read(limit + 1)
        if len(text) > limit:
            raise BodyTooLarge(f"The body may have {limit} bytes.", limit_bytes=limit)
        return text
    text = environ["wsgi.input"].read(length)
    if len(text) < length:
        raise MalformedJson("The body ended before its Content-Length.")
    return text


def read_body(text: bytes, model: type[BaseModel]) -> Any:
    """A body as its model, or as the variant of it that it is. Raises MalformedJson and ValidationFailed."""
    value = read_members(text, getattr(model, "raw_members", RAW))
    choose: Callable[[dict[str, Any]], type[BaseModel]] | None = getattr(model, "variant", None)
    if choose is not None:
        model = choose(value)
    return checked(value, model)


def read_members(text: bytes, raw: frozenset[str]) -> dict[str, Any]:
    """A JSON object, its members named in `raw` as they came. Raises MalformedJson and ValidationFailed."""
    try:
        return read_object(text, raw)
    except NoObject as error:
        raise MalformedJson(str(error)) from None
    except Crowded:
        told = f"has more than {MOST_PARTS:,} members and items, payloads not counted"
        raise ValidationFailed.at("", told) from None


def checked(value: dict[str, Any], model: type[BaseModel]) -> Any:
    """An object as its model. Raises ValidationFailed."""
    try:
        return model.__pydantic_validator__.validate_python(value)
    except ValidationError as error:
        raise ValidationFailed(errors=_faults(error, "")) from None


def read_query(request: Request, model: type[M]) -> M:
    """The parameters as their model. Raises ValidationFailed, its pointers the parameters' names."""
    text = request.environ.get("QUERY_STRING", "")
    values: dict[str, Any] = {}
    if text:
        try:
            pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=100)
        except ValueError:
            raise ValidationFailed.at(
                "", "the query is not UTF-8, or has more than 100 parameters"
            ) from None
        for name, value in pairs:
            if name in values:
                raise ValidationFailed.at(name, "is given twice: give it once")
            values[name] = value
    try:
        read: M = model.__pydantic_validator__.validate_python(values)
    except ValidationError as error:
        raise ValidationFailed(errors=_faults(error, None)) from None
    return read


def idempotency_key(request: Request) -> str | None:
    """The Idempotency-Key of the request. Raises ValidationFailed."""
    key: str | None = request.environ.get("HTTP_IDEMPOTENCY_KEY")
    if key is not None and not _KEY.fullmatch(key):
        raise ValidationFailed.at("Idempotency-Key", "must be 1 to 128 visible ASCII characters")
    if key is not None and "," in key:  # WSGI joins lines by one, and a key may hold one
        names = [name.lower() for name, _ in lines_of(request.environ) or ()]
        if names.count("idempotency-key") > 1:
            raise ValidationFailed.at("Idempotency-Key", "is sent twice: send it once")
    return key


def traceparent(request: Request) -> str | None:
    """The trace the request belongs to (W3C Trace Context), or None where it names none."""
    return read_traceparent(request.environ.get("HTTP_TRACEPARENT"))


def pointer(parts: tuple[int | str, ...]) -> str:
    """A JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def _faults(error: ValidationError, root: str | None) -> list[dict[str, str]]:
    faults = []
    for fault in error.errors(include_url=False, include_input=False)[:MOST_ERRORS]:
        place = fault["loc"]
        faults.append(
            {
                "pointer": str(place[0] if place else "")
                if root is None
                else root + pointer(place),
                "detail": _TOLD.get(fault["type"]) or _told(fault),
            }
        )
    return faults


def _told(fault: ErrorDetails) -> str:
    if words := _PATTERNS.get(fault.get("ctx", {}).get("pattern", "")):
        return words
    text = fault["msg"].removeprefix("Value error, ").replace("Input should ", "must ")
    text = _COUNTED.sub("", text)
    return (
        text.replace("String should ", "must ")
        .replace("List should ", "must ")
        .replace("Tuple should ", "must ")
    )
