"""Requests as they are sent, and those that spoil one thing of a good one."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from tests.fuzz import bodies, hostile

T = TypeVar("T")
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
HEADERS = (
    *("Idempotency-Key", "X-Request-Id", "traceparent", "If-Match", "If-None-Match", "Accept"),
    *("Origin", "Referer", "User-Agent", "Content-Digest", "Signature", "Signature-Input"),
    *("Authorization", "Cookie", "Host", "X-Forwarded-For", "X-Forwarded-Host", "Forwarded"),
    *("HX-Request", "HX-Target", "HX-Current-URL", "Last-Event-ID", "Accept-Language", "Range"),
    *("Content-Encoding", "Content-Type", "Expect", "Accept-Encoding", "X-HTTP-Method-Override"),
)
LONGEST_FIELD = 8_000


@dataclass(frozen=True, slots=True)
class Shot:
    """A request: method, target as it is written, fields and body."""

    method: str
    target: str
    fields: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    what: str = ""

    def __str__(self) -> str:
        body = b"" if self.body is None else self.body[:200]
        return f"{self.method} {self.target[:200]} ({self.what}) {body!r}"


@dataclass(frozen=True, slots=True)
class Good:
    """A request that is right, and what it takes: body and its members, query, form, path."""

    shot: Shot
    segments: tuple[str, ...] = ()
    body: Any = None
    members: tuple[bodies.Place, ...] = ()
    parameters: tuple[str, ...] = ()
    form: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Few:
    """So many of all that could be sent to one place, drawn."""

    draw: random.Random
    most: int

    def of(self, all_of_them: Sequence[T], *, factor: int = 1) -> Sequence[T]:
        """Those that are taken."""
        return self.draw.sample(all_of_them, min(self.most * factor, len(all_of_them)))


def shots(good: Good, few: Few) -> Iterator[Shot]:
    """Those that spoil it in one place: every place, and a few ways for each."""
    for spoil in (_bodies, _forms, _queries, _paths, _headers):
        yield from spoil(good, few)


def _bodies(good: Good, few: Few) -> Iterator[Shot]:
    if good.body is None:
        return
    fields = {**good.shot.fields, "Content-Type": JSON}
    for place in good.members:
        what = f"body /{'/'.join(map(str, place))}"
        for value in (hostile.ALL_CONTROLS, *few.of(hostile.values())):
            text = bodies.spoilt(good.body, place, value)
            yield replace(good.shot, fields=fields, body=text, what=what)
    for name in few.of([name for (name, *_) in filter(None, good.members)]):
        text = bodies.twice(good.body, str(name))
        yield replace(good.shot, fields=fields, body=text, what=f"body /{name} twice")
    for name in few.of(hostile.NAMES):
        text = json.dumps({**good.body, name: {}}).encode()
        yield replace(good.shot, fields=fields, body=text, what="another member")


def _forms(good: Good, few: Few) -> Iterator[Shot]:
    if good.form is None:
        return
    fields = {**good.shot.fields, "Content-Type": FORM}
    for name, value in good.form.items():
        rest = [_pair(*one) for one in good.form.items() if one[0] != name]
        twice = "&".join([_pair(name, value)] * 2)
        for one in (*few.of(_written(name)), *few.of(("", twice))):
            body = "&".join([*rest, one]).encode()
            yield replace(good.shot, fields=fields, body=body, what=f"form {name}")


def _queries(good: Good, few: Few) -> Iterator[Shot]:
    path, _, query = good.shot.target.partition("?")
    asked = [one for one in query.split("&") if one]
    for name in (*good.parameters, f"{hostile.MARK}'"):
        rest = [one for one in asked if one.partition("=")[0] != name]
        one = f"{hostile.encoded(name)}=1"
        for text in (
            *few.of(_written(name)),
            *few.of((f"{one}&{one}", "&" * 2_000, f"{one}&" * 99)),
        ):
            yield replace(
                good.shot, target=f"{path}?{'&'.join([*rest, text])}", what=f"query {name}"
            )


def _paths(good: Good, few: Few) -> Iterator[Shot]:
    written = [hostile.encoded(text) for text in hostile.texts()]
    for segment in good.segments:
        for text in few.of((*written, *hostile.NO_TEXTS, *hostile.SEGMENTS)):
            target = good.shot.target.replace(segment, text, 1)
            yield replace(good.shot, target=target, what="path")


def _headers(good: Good, few: Few) -> Iterator[Shot]:
    given, body = dict(good.shot.fields), good.shot.body
    if good.body is not None:
        given, body = {**given, "Content-Type": JSON}, json.dumps(good.body).encode()
    for name in few.of(HEADERS):
        for text in few.of(hostile.texts()):
            # a line break or NUL is no part of a field's value: test_wires.py sends them
            value = text.encode("utf-8", "surrogatepass").decode("latin-1")[:LONGEST_FIELD]
            if not any(character in value for character in "\r\n\0"):
                fields = {**given, name: value.strip(" \t")}
                yield replace(good.shot, fields=fields, body=body, what=f"field {name}")


def _written(name: str) -> list[str]:
    texts = [_pair(name, text) for text in hostile.texts()]
    octets = [f"{hostile.encoded(name)}={text}" for text in hostile.NO_TEXTS]
    return [*texts, *octets, hostile.encoded(name)]


def _pair(name: str, value: str) -> str:
    return f"{hostile.encoded(name)}={hostile.encoded(value)}"
