"""What comes over the wire: unknown members pass, wrong ones are named, numbers stay whole."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante_agent import Publication, Ready, Ring, UnexpectedAnswer, Unknown, instants, jsontext
from restante_agent.model.decode import decode
from restante_agent.model.event import ClaimedEvent
from restante_agent.model.frame import frame_of
from restante_agent.problem import retry_after

EVENT = {
    "event_id": "evt_1",
    "project": "demo",
    "type": "note",
    "status": "a-state-of-the-future",
    "sequence_number": 7.0,
    "claim_generation": 2,
    "created_at": "2026-01-01T02:00:00+02:00",
    "producer": {"kind": "agent", "id": "agt_1", "name": "a", "shoe_size": 43},
    "fence": None,
    "novelty": {"x": 1},
}
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def test_what_a_newer_server_adds_does_no_harm() -> None:
    event = decode(ClaimedEvent, EVENT)
    assert (event.sequence_number, event.fence) == (7, None)
    assert event.status == "a-state-of-the-future"
    assert event.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert event.producer is not None
    assert event.producer.name == "a"
    assert event.raw is EVENT


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("event_id", 3),
        ("claim_generation", "2"),
        ("claim_generation", True),
        ("claim_generation", 1.5),
        ("created_at", "2026-01-01T00:00:00"),
        ("producer", []),
    ],
)
def test_a_member_of_another_type_is_named(member: str, value: Any) -> None:
    with pytest.raises(UnexpectedAnswer, match=member if member != "producer" else "Producer"):
        decode(ClaimedEvent, {**EVENT, member: value})


def test_a_missing_member_is_named() -> None:
    with pytest.raises(UnexpectedAnswer, match="claim_generation"):
        decode(ClaimedEvent, {k: v for k, v in EVENT.items() if k != "claim_generation"})
    with pytest.raises(UnexpectedAnswer, match="object"):
        decode(ClaimedEvent, None)


@given(JSON)
def test_json_comes_through_as_it_was(value: Any) -> None:
    assert jsontext.loads(jsontext.dumps(value)) == value


def test_json_at_its_edges() -> None:
    assert jsontext.loads(jsontext.dumps({"n": 2**80})) == {"n": 2**80}
    assert jsontext.dumps("\ud800") == b'"\\ud800"'
    absurd = jsontext.loads('{"ok": 1, "n": ' + "9" * 5000 + "}")
    assert absurd["ok"] == 1
    with pytest.raises(ValueError, match="JSON compliant"):
        jsontext.dumps(float("nan"))


@given(st.datetimes(timezones=st.just(timezone(timedelta(hours=5, minutes=30)))))
def test_instants_are_written_in_utc_with_six_decimals(instant: datetime) -> None:
    if instant.year < 2:
        return
    text = instants.render(instant)
    assert text.endswith("Z")
    assert len(text.partition(".")[2]) == 7
    assert instants.parse(text) == instant


def test_naive_instants_are_refused_both_ways() -> None:
    with pytest.raises(ValueError, match="time zone"):
        instants.render(datetime(2026, 1, 1))
    with pytest.raises(ValueError, match="offset"):
        instants.parse("2026-01-01T00:00:00")


def test_a_publication_says_only_what_was_given() -> None:
    plain = Publication(payload={"type": "t"}, project="p", recipients=["agt_1"])
    assert plain.as_json() == {"payload": {"type": "t"}, "project": "p", "recipients": ["agt_1"]}
    full = Publication(
        payload={},
        project="p",
        priority=0,
        available_at=datetime(2026, 1, 1, tzinfo=UTC),
        backoff_base_seconds=1,
        backoff_max_seconds=9,
        report=["expired"],
    )
    assert full.as_json() == {
        "payload": {},
        "project": "p",
        "priority": 0,
        "available_at": "2026-01-01T00:00:00.000000Z",
        "backoff": {"base_seconds": 1, "max_seconds": 9},
        "report": ["expired"],
    }


def test_frames() -> None:
    ready = '{"epoch": "e", "head": 5, "claimable": 1, "heartbeat_seconds": 10, "new": 1}'
    assert frame_of("ready", ready) == Ready(epoch="e", head=5, claimable=1, heartbeat_seconds=10)
    assert frame_of("inbox_updated", '{"cursor_hint": 3}') == Ring(cursor_hint=3)
    assert frame_of("of-the-future", "x") == Unknown("of-the-future")
    with pytest.raises(UnexpectedAnswer):
        frame_of("ready", "not json")


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "soon"}, None),
        (
            {
                "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT",
                "date": "Thu, 01 Jan 2026 00:00:10 GMT",
            },
            20.0,
        ),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, None),
    ],
)
def test_retry_after_in_both_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
