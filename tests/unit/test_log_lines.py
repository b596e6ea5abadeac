"""What gunicorn writes of an address goes without its query."""

from __future__ import annotations

import logging

import pytest

from workers.log_lines import NoQueries


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
            "Invalid request from ip=192.0.2.7: Invalid Request Line 'GET /a?[removed] HTTP/9'",
        ),
        ("100% of workers? None", (), "100% of workers? None"),
        ("Worker (pid:%s) was sent SIGKILL!", (7,), "Worker (pid:7) was sent SIGKILL!"),
    ],
)
def test_a_line(line: str, args: tuple[object, ...], written: str) -> None:
    record = logging.LogRecord("gunicorn.error", logging.ERROR, "", 0, line, args, None)
    assert NoQueries().filter(record) is True
    assert record.getMessage() == written
