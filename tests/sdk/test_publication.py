"""What a publication says on the wire."""

from __future__ import annotations

import click
import pytest

from restante_agent import Publication
from restante_agent.cli.values import json_object, json_value


@pytest.mark.parametrize("text", ['{"n": NaN}', '{"n": -Infinity}', "[" * 100_000])
def test_what_is_no_json_is_refused_on_the_command_line(text: str) -> None:
    for read in (json_object, json_value):
        with pytest.raises(click.BadParameter):
            read(text)


def test_what_is_not_said_is_left_out() -> None:
    assert Publication(payload={"a": 1}, project="p").as_json() == {
        "project": "p",
        "payload": {"a": 1},
    }


def test_keys_go_as_they_are() -> None:
    said = Publication(
        payload={}, project="p", ordering_key="o", supersedes_key="price", idempotency_key="i"
    ).as_json()
    assert said["supersedes_key"] == "price"
    assert (said["ordering_key"], said["idempotency_key"]) == ("o", "i")
