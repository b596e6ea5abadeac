"""Numbers and instants of bodies: read as they are meant, refused where they are not."""

from __future__ import annotations

import unicodedata
from datetime import datetime

import pytest
from pydantic import ValidationError

from blueprints.fields import Body, Instant, Limit, Seconds, Tidy
from restante.coordination.memory_keys import check_key
from restante.errors import ValidationFailed
from restante.identity.names import is_tidy


class Sample(Body):
    """One of each."""

    limit: Limit = 1
    seconds: Seconds = 0.0
    at: Instant | None = None
    key: Tidy = ""


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2031-05-01T09:30:00Z", datetime(2031, 5, 1, 9, 30)),
        ("2031-05-01t09:30:00.25z", datetime(2031, 5, 1, 9, 30, 0, 250_000)),
        ("2031-05-01 11:30:00+02:00", datetime(2031, 5, 1, 9, 30)),
        ("2031-05-01T00:30:00-23:59", datetime(2031, 5, 2, 0, 29)),
        ("2031-05-01T09:30:00.1234567891Z", datetime(2031, 5, 1, 9, 30, 0, 123_456)),
        ("2016-12-31T23:59:60Z", datetime(2017, 1, 1)),
    ],
)
def test_instants_of_rfc_3339_are_read(text: str, meant: datetime) -> None:
    assert Sample(at=text).at == meant  # type: ignore[arg-type]  # as it comes in


@pytest.mark.parametrize(
    "text",
    [
        *("", "now", "2031-05-01", "2031-05-01T09:30Z", "2031-05-01T09:30:00", "20310501T093000Z"),
        *(
            "2031-W18-4T09:30:00Z",
            "2031-02-30T09:30:00Z",
            "2031-05-01T24:00:00Z",
            "2031-05-01T09:30:61Z",
        ),
        *("2031-05-01T09:30:00+24:00", "2031-05-01T09:30:00+0200", "2031-05-01T09:30:00,5Z"),
        *("0000-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59-23:59"),
        *("٢٠٣١-05-01T09:30:00Z", "2031-05-01T09:30:00Z\n", 1_935_394_200, True),
    ],
)
def test_what_is_no_instant_is_refused(text: object) -> None:
    with pytest.raises(ValidationError):
        Sample(at=text)  # type: ignore[arg-type]  # as it comes in


def test_names_and_keys_have_no_control_characters() -> None:
    for number in range(0x100):
        text = f"a{chr(number)}"
        if unicodedata.category(chr(number)) == "Cc":
            assert not is_tidy(text)
            with pytest.raises(ValidationError, match="pattern"):
                Sample(key=text)
            with pytest.raises(ValidationFailed):
                check_key(text, "/key")
        else:
            assert is_tidy(text)
            assert Sample(key=text).key == text
            check_key(text, "/key")


@pytest.mark.parametrize(("given", "meant"), [(7, 7), (7.0, 7), (1, 1), (1000, 1000)])
def test_json_knows_one_kind_of_number(given: float, meant: int) -> None:
    read = Sample(limit=given)  # type: ignore[arg-type]  # as it comes in
    assert read.limit == meant
    assert type(read.limit) is int


@pytest.mark.parametrize("given", [0, 1001, 7.5, "7", True, None, [7], 1e300, -1])
def test_an_integer_is_neither_guessed_nor_bent(given: object) -> None:
    with pytest.raises(ValidationError):
        Sample(limit=given)  # type: ignore[arg-type]  # as it comes in


@pytest.mark.parametrize("given", [-0.001, float("inf"), float("nan"), "1", True, 1e12])
def test_a_length_is_a_number_of_seconds_within_reason(given: object) -> None:
    with pytest.raises(ValidationError):
        Sample(seconds=given)  # type: ignore[arg-type]  # as it comes in
