"""What is written to the log: addresses go without their query, errors without what was sent."""

from __future__ import annotations

import json
import logging
import sys

import pymysql
import pytest
from sqlalchemy.exc import IntegrityError

from restante.errors import NotFound, RecipientRefused
from workers.log_lines import JsonLines, Lines, NothingSent


@pytest.mark.parametrize(
    ("line", "args", "written"),
    [
        (
            "Error handling request %s %s",
            ("GET", "/a/subscribe?ticket=rstt_x&after_cursor=1"),
            "Error handling request GET /a/subscribe?[removed]",
        ),
        (
            "Invalid request from ip=192.0.2.7: Invalid Request Line 'GET /a?ticket=rstt_x HTTP/9'",
            (),
            "Invalid request from ip=192.0.2.7: Invalid Request Line ",
        ),
        (
            "Invalid request from ip=::1: Invalid HTTP Header: 'AUTHORIZATION\\x00: Bearer secret'",
            (),
            "Invalid request from ip=::1: Invalid HTTP Header",
        ),
        ("100% of workers? None", (), "100% of workers? None"),
        ("Worker (pid:%s) was sent SIGKILL!", (7,), "Worker (pid:7) was sent SIGKILL!"),
    ],
)
def test_a_line(line: str, args: tuple[object, ...], written: str) -> None:
    record = logging.LogRecord("gunicorn.error", logging.ERROR, "", 0, line, args, None)
    assert NothingSent().filter(record) is True
    assert record.getMessage() == written


def raised(error: Exception, *, while_handling: Exception | None = None) -> logging.LogRecord:
    """A line of an error that was raised, and of the one before it."""
    try:
        try:
            raise while_handling or error
        except Exception as before:
            if while_handling is not None:
                raise error from before
            raise
    except Exception:  # noqa: BLE001 - any error has to be written
        line = "request_failed request_id=%s cause=ours"
        return logging.LogRecord("x", logging.ERROR, "", 0, line, ("r1",), sys.exc_info())


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("planted"), "builtins.KeyError"),
        (ValueError("invalid literal: 'planted'"), "builtins.ValueError"),
        (NotFound(), "restante.errors.NotFound: There is nothing of that name here."),
        (
            RecipientRefused(recipients=["sent"]),
            "restante.errors.RecipientRefused: A recipient is unknown, removed or without the project.",
        ),
        (TypeError("unhashable type"), "builtins.TypeError: unhashable type"),
        (
            pymysql.err.IntegrityError(1062, "Duplicate entry 'planted' for key 'x'"),
            "pymysql.err.IntegrityError: (1062, …)",
        ),
    ],
)
def test_an_error_tells_what_and_where_and_nothing_that_was_sent(
    error: Exception, told: str
) -> None:
    text = Lines().format(raised(error))
    assert "request_failed request_id=r1" in text
    assert "in raised\n    raise while_handling or error" in text
    assert text.endswith(told)
    assert "planted" not in text


def test_an_error_of_an_error_has_both_and_a_statement_stays_readable() -> None:
    cause = pymysql.err.IntegrityError(1062, "Duplicate entry 'planted' for key 'x'")
    text = Lines().format(
        raised(IntegrityError("INSERT INTO t VALUES (?)", {}, cause), while_handling=cause)
    )
    assert "planted" not in text
    assert text.index("pymysql.err.IntegrityError") < text.index("-- then --")
    assert "[SQL: INSERT INTO t VALUES (?)]" in text.partition("-- then --")[2]


def test_a_line_as_json() -> None:
    line = json.loads(JsonLines().format(raised(KeyError("planted"))))
    assert {name: line[name] for name in ("level", "logger", "verb", "request_id", "cause")} == {
        "level": "ERROR",
        "logger": "x",
        "verb": "request_failed",
        "request_id": "r1",
        "cause": "ours",
    }
    assert line["message"] == "request_failed request_id=r1 cause=ours"
    assert line["error"].endswith("KeyError")
