"""The judge of the fuzzer finds what is wrong with an answer, and what is sent is what it is meant to be."""

from __future__ import annotations

import json
import random

import pytest

from tests.fuzz import hostile
from tests.fuzz.bodies import places, spoilt, twice
from tests.fuzz.judge import Answer, faults
from tests.fuzz.shots import Few, Good, Shot, shots

PROBLEM = {"type": "/problems/x", "title": "t", "detail": "d", "instance": "/", "request_id": "r"}


def answer(status: int, body: object = "", kind: str = "application/json", **fields: str) -> Answer:
    text = body if isinstance(body, str) else json.dumps(body)
    return Answer(status, {"content-type": kind, **fields}, text.encode())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (answer(500, {}), "it is a 500"),
        (answer(503, {}), "it is a 503"),
        (answer(418, {}), "418 is not documented"),
        (answer(200, "{"), "it is no JSON"),
        (answer(200, {"a": "1787569"}), "it says 1787569"),
        (answer(200, {"a": "(sqlite3.OperationalError)"}), "it says sqlite3"),
        (answer(200, {}, **{"x-zq7x": "1"}), "a field of it was written by the caller"),
        (answer(200, {}, location="https://zq7x"), "it leads to https://zq7x"),
        (answer(200, {}, location="//zq7x"), "it leads to //zq7x"),
        (answer(200, "<p>1787569", "text/html"), "a template was made of input"),
        (answer(200, "<zq7x>", "text/html; charset=utf-8"), "it is not escaped"),
        (
            answer(404, {**PROBLEM, "status": 400}, "application/problem+json"),
            "its status is 400 and 404",
        ),
        (
            answer(404, {"status": 404}, "application/problem+json"),
            "a problem without ['detail', 'instance', 'request_id', 'title', 'type']",
        ),
        (answer(404, '"' + "x" * 5_000_000 + '"'), "a refusal of 5000002 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_answer_is_told(wrong: Answer, said: str) -> None:
    assert said in list(faults(wrong, {200, 400, 404}))


def test_a_right_answer_is_not() -> None:
    told = {**PROBLEM, "status": 422, "detail": "<zq7x>"}
    for right in (
        answer(422, told, "application/problem+json"),
        answer(503, {}, **{"retry-after": "1"}),
        answer(303, "", "text/html", location="/sign-in?next=zq7x"),
        answer(200, "&lt;zq7x&gt;", "text/html"),
    ):
        assert list(faults(right)) == []


def test_every_member_of_a_schema_is_a_place() -> None:
    item = {"properties": {"b": {}, "c": {"anyOf": [{"type": "null"}, {"items": {}}]}}}
    schema = {"properties": {"a": {"items": {"$ref": "#/x/Item"}}}}
    found = set(places(schema, {"x": {"Item": item}}))
    assert found == {("a",), ("a", 0), ("a", 0, "b"), ("a", 0, "c"), ("a", 0, "c", 0)}


def test_a_place_is_spoilt_and_nothing_else() -> None:
    body = {"a": [{"b": 1}, 2], "c": "x"}
    assert json.loads(spoilt(body, ("a", 0, "b"), b"7")) == {"a": [{"b": 7}, 2], "c": "x"}
    assert json.loads(spoilt(body, ("d", 0, "e"), b"7")) == {**body, "d": [{"e": 7}]}
    assert spoilt(body, (), b"NaN") == b"NaN"
    assert twice({"a": 1}, "a") == b'{"a": 1,"a":1}'


def test_a_seed_draws_the_same_shots_again() -> None:
    good = Good(
        Shot("POST", "/x/seg?q=1"),
        segments=("seg",),
        body={"a": 1},
        members=((), ("a",)),
        parameters=("q",),
    )
    first, second, other = (list(shots(good, Few(random.Random(n), 4))) for n in (1, 1, 2))
    assert first == second != other
    kinds = {shot.what.split()[0] for shot in first}
    assert kinds >= {"body", "another", "query", "path", "field"}


def test_a_string_is_quoted_whatever_is_in_it() -> None:
    for text in (*hostile.PROBES, *hostile.TEXTS, *hostile.CONTROLS):
        assert json.loads(hostile.quoted(text)) == text
    assert hostile.quoted("\udcff") == b'"\\udcff"'
