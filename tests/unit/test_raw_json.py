"""Payloads come out of a body as the bytes they were, whatever surrounds them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blueprints.raw_json import NoObject, Raw, read_object

KEPT = frozenset({"payload", "result"})
_characters = st.characters(exclude_categories=["Cs"])
_names = st.text(_characters, max_size=8) | st.sampled_from(["payload", "result", "events"])
_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(_characters),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_names, inner, max_size=4),
    max_leaves=25,
)


def same(read: Any, meant: Any) -> None:
    """What was read is what was meant, and what was kept raw is its text."""
    if type(read) is Raw:
        assert json.loads(read.text) == read.value == meant
    elif type(read) is dict:
        assert read.keys() == meant.keys()
        for name in read:
            same(read[name], meant[name])
    elif type(read) is list:
        for one, other in zip(read, meant, strict=True):
            same(one, other)
    else:
        assert read == meant


@given(
    st.dictionaries(_names, _values, max_size=6),
    st.sampled_from([None, 0, 2]),
    st.sampled_from(["ascii", "utf-8"]),
    st.sampled_from(["", " ", "\n\t "]),
)
def test_whatever_is_written_is_read(
    meant: dict[str, Any], indent: int | None, encoding: str, around: str
) -> None:
    text = around + json.dumps(meant, indent=indent, ensure_ascii=encoding == "ascii") + around
    same(read_object(text.encode(), KEPT), meant)


@pytest.mark.parametrize(
    "payload",
    [
        b"{}",
        b'{ "a" : 1.0 }',
        b'{"n":123456789012345678901234567890,"f":1E5,"z":-0.0}',
        '{"text":"ä\\u00e4\\"}]{[\\\\"}'.encode(),
        b'{"twice":1,"twice":2}',
        b'{"deep":' + b"[" * 63 + b"]" * 63 + b"}",
    ],
)
def test_bytes_are_kept(payload: bytes) -> None:
    """Spacing, spelling of numbers, escapes, even a name that stands twice inside a payload."""
    body = read_object(
        b'{"events" : [ {"payload": ' + payload + b' , "x":1},{"payload":{}}]}', KEPT
    )
    assert [event["payload"].text for event in body["events"]] == [payload, b"{}"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"", "no JSON"),
        (b"[]", "JSON object"),
        (b'"text"', "JSON object"),
        (b"null", "JSON object"),
        (b'{"a":1', "no JSON"),
        (b'{"a":1}x', "no JSON"),
        (b'{"a":NaN}', "no JSON"),
        (b'{"a":Infinity}', "no JSON"),
        (b'{"a":1e999}', "no JSON"),
        (b'{"a":"\\ud800"}', "no JSON"),
        (b'{"a":"\xff"}', "no JSON"),
        (b"\xef\xbb\xbf{}", "no JSON"),
        (b'{"a":' * 2000 + b"1" + b"}" * 2000, "no JSON"),
        (b'{"a":1,"a":2}', "'a' is named twice"),
        (b'{"a":1,"\\u0061":2}', "'a' is named twice"),
        (b'{"payload":{},"payload":{}}', "'payload' is named twice"),
        (b'{"payload":{"a":1},"payload":{"b":[1,2]}}', "'payload' is named twice"),
        (b'{"a":[1,2],"a":5}', "named twice"),
        (b'{"a":5,"a":[[1]]}', "named twice"),
        (b'{"a":{"payload":1},"a":{"x":2}}', "named twice"),
        (b'{"events":[{"a":1}],"events":[]}', "named twice"),
        (b'{"events":[{"a":{"b":1,"b":1}}]}', "named twice"),
    ],
)
def test_what_is_no_object_is_refused(text: bytes, told: str) -> None:
    with pytest.raises(NoObject, match=told):
        read_object(text, KEPT)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(text: bytes) -> None:
    try:
        read_object(text, KEPT)
    except NoObject:
        return
    assert json.loads(text) is not None


@pytest.mark.parametrize("name", [b"payload", b"x"])
@pytest.mark.parametrize("levels", [80, 900])
def test_what_is_nested_beyond_use_is_refused(name: bytes, levels: int) -> None:
    with pytest.raises(NoObject, match=r"deeper than 64 levels.* make it flatter"):
        read_object(b'{"' + name + b'":' + b"[" * levels + b"]" * levels + b"}", KEPT)


_bodies = st.sampled_from(
    [b"{}", b'{"n":1}', b' {"n":1}', b'{"a":"}{"}', b"7", b'"x"', b"null", b'{"a":[{"b":{}}]}']
)
_before = st.sampled_from([b"", b'"project":"main",', b'"project":"x",', b'"tags":[1,"]"],'])
_behind = st.sampled_from([b"", b',"type":"a"', b',"n":{"x":1}', b' , "type" : "a" '])


@given(st.lists(st.tuples(_before, _bodies, _behind), min_size=1, max_size=6))
def test_objects_written_alike_are_read_as_if_each_stood_alone(
    parts: list[tuple[bytes, bytes, bytes]],
) -> None:
    """Whatever precedes them; and the first of a run knows those that follow."""
    texts = [b'{%b"payload":%b%b}' % part for part in parts]
    read = read_object(b'{"events":[' + b", ".join(texts) + b"]}", KEPT)["events"]
    for one, text in zip(read, texts, strict=True):
        same(one, json.loads(text))
    at = 0
    while at < len(read):
        payload = read[at].get("payload")
        more = payload.more if type(payload) is Raw else []
        assert [id(read[at + 1 + k]["payload"]) for k in range(len(more))] == [*map(id, more)]
        others = [{n: v for n, v in one.items() if n != "payload"} for one in read[at:]]
        assert others[1 : 1 + len(more)] == [others[0]] * len(more)
        at += 1 + len(more)


@pytest.mark.parametrize(
    "text",
    [
        b'{"events":[{"a":1,"payload":{}},{"a":1,"payload":{},"payload":{}}]}',
        b'{"events":[{"a":1,"payload":{}},{"a":1,"a":1,"payload":{}}]}',
        b'{"ack":[{"event_id":"x","claim_generation":1,"claim_generation":1}]}',
        b'{"ack":[{"event_id":"x","claim_generation" :1,"claim_generation" :1}]}',
        b'{"limit":1,"limit":":"}',
    ],
)
def test_a_name_that_stands_twice_is_seen_on_the_short_ways_too(text: bytes) -> None:
    """Behind an object that was written alike, and where nothing is kept raw."""
    with pytest.raises(NoObject, match="twice"):
        read_object(text, KEPT)


def test_depth_is_no_matter_where_nothing_is_kept_raw() -> None:
    deep = b'{"a":' * 500 + b"1" + b"}" * 500
    with pytest.raises(NoObject, match="nested deeper"):
        read_object(deep, KEPT)
