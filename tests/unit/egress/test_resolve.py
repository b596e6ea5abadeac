"""Lookups: a deadline, a pool of their own, and no second look."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from gevent.threadpool import ThreadPoolExecutor as RealThreads

from restante.egress.refusal import CallFailed, Cause
from restante.egress.resolve import PooledResolver
from tests.support.waiting import wait_until
from tests.unit.egress.canned import PUBLIC, Dialled, Names, canned

Rows = list[tuple[Any, ...]]


def rows(*addresses: str) -> Rows:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (text, 443)) for text in addresses]


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as executor:
        yield executor


def test_answers_come_in_the_resolvers_order(threads: ThreadPoolExecutor) -> None:
    def lookup(host: str, port: int, **kinds: int) -> Rows:
        assert (host, port) == ("h.example.com", 8443)
        assert kinds == {"type": socket.SOCK_STREAM, "proto": socket.IPPROTO_TCP}
        return rows("10.0.0.2", "10.0.0.1")

    resolver = PooledResolver(threads, 2, lookup=lookup)
    assert resolver("h.example.com", 8443, 5) == ["10.0.0.2", "10.0.0.1"]


@pytest.mark.parametrize(
    "error",
    [
        socket.gaierror(socket.EAI_NONAME, "no such name"),
        socket.gaierror(socket.EAI_AGAIN, "try again"),
        UnicodeError("label too long"),
    ],
)
def test_a_lookup_that_fails_is_a_call_that_failed(
    threads: ThreadPoolExecutor, error: Exception
) -> None:
    def lookup(host: str, port: int, **kinds: int) -> Rows:
        raise error

    with pytest.raises(CallFailed) as failed:
        PooledResolver(threads, 2, lookup=lookup)("h.example.com", 443, 5)
    assert failed.value.cause is Cause.LOOKUP
    assert str(error) in failed.value.note


def test_a_lookup_that_fails_leaves_no_page_in_the_log(capfd: pytest.CaptureFixture[str]) -> None:
    """The pool of gevent writes whatever is raised in a thread of it, and names are chosen by tenants."""

    def lookup(host: str, port: int, **kinds: int) -> Rows:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    with RealThreads(1) as threads, pytest.raises(CallFailed):
        PooledResolver(threads, 1, lookup=lookup)("h.example.com", 443, 5)
    assert capfd.readouterr() == ("", "")


def test_lookups_that_hang_are_given_up_and_keep_their_places_until_they_end(
    threads: ThreadPoolExecutor,
) -> None:
    free, begun = threading.Event(), threading.Semaphore(0)

    def lookup(host: str, port: int, **kinds: int) -> Rows:
        begun.release()
        if host == "slow.example.com":
            free.wait()
        return rows(PUBLIC)

    resolver = PooledResolver(threads, 2, lookup=lookup)
    try:
        for _ in range(2):
            with pytest.raises(CallFailed, match="came to nothing") as failed:
                resolver("slow.example.com", 443, 0.01)
            assert "no answer" in failed.value.note
            assert begun.acquire(timeout=10)
        with pytest.raises(CallFailed) as failed:
            resolver("quick.example.com", 443, 0.01)
        assert "hangs" in failed.value.note
    finally:
        free.set()
    assert wait_until(lambda: resolver("quick.example.com", 443, 10), "a free place") == [PUBLIC]


def test_a_name_that_leads_elsewhere_the_second_time_is_asked_once_a_call() -> None:
    names, dial = Names([[PUBLIC], ["127.0.0.1"]]), Dialled()
    egress = canned(names=names, dial=dial)
    assert egress.send("GET", "https://rebinding.example.com/", fields={}).ok
    assert (names.asked, dial.addresses) == (["rebinding.example.com"], [PUBLIC])
    with pytest.raises(Exception, match="not allowed"):
        egress.send("GET", "https://rebinding.example.com/", fields={})
    assert dial.addresses == [PUBLIC]


def test_a_literal_is_not_looked_up() -> None:
    names = Names([["10.0.0.1"]])
    with pytest.raises(Exception, match="not allowed"):
        canned(names=names).judge("https://8.8.8.8/")
    with pytest.raises(Exception, match="not allowed"):
        canned(names=names).judge("https://127.0.0.1:443/")
    assert names.asked == []
