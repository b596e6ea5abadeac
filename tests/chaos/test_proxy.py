"""The proxy of the fault suite does to a wire what it says."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.chaos.owner import opened_by
from tests.chaos.proxy import SLOW_SECONDS, Proxy, Trouble
from tests.support.waiting import wait_until


class Echo:
    """Answers every line with itself, and keeps what it has heard."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with closing(connection), connection.makefile("rwb", buffering=0) as file:
            try:
                for line in file:
                    self.heard.append(line)
                    file.write(line)
            except OSError:
                self.heard.append(b"reset")
            else:
                self.heard.append(b"end")


@pytest.fixture
def echo() -> Iterator[Echo]:
    one = Echo()
    yield one
    one.listener.close()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    one = Proxy(echo.listener.getsockname()[1])
    yield one
    one.close()


def dial(proxy: Proxy) -> socket.socket:
    """A connection over which one line has gone to and fro."""
    wire = socket.create_connection(("127.0.0.1", proxy.port), timeout=5)
    wire.sendall(b"0\n")
    assert wire.recv(10) == b"0\n"
    wire.settimeout(0.1)
    return wire


def is_silent(wire: socket.socket) -> bool:
    try:
        wire.recv(10)
    except TimeoutError:
        wire.settimeout(5)
        return True
    return False


def test_a_cut_resets_both_ends(proxy: Proxy, echo: Echo) -> None:
    with dial(proxy) as wire:
        assert proxy.cut() == 1
        with pytest.raises(ConnectionResetError):
            wire.recv(10)
    wait_until(lambda: echo.heard[-1] in (b"reset", b"end"), "the server's end is gone")
    dial(proxy).close()


@pytest.mark.parametrize("way", [Trouble.STALL_UP, Trouble.STALL_DOWN])
def test_what_is_stalled_goes_on(proxy: Proxy, echo: Echo, way: Trouble) -> None:
    with dial(proxy) as wire:
        proxy.trouble(way)
        wire.sendall(b"1\n")
        assert is_silent(wire)
        assert (b"1\n" in echo.heard) is (way is Trouble.STALL_DOWN)
        proxy.heal()
        assert wire.recv(10) == b"1\n"


def test_what_is_slow_comes_as_it_was_sent(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    real = asyncio.sleep

    async def noted(seconds: float) -> None:
        slept.append(seconds)
        await real(0)

    monkeypatch.setattr("tests.chaos.proxy.asyncio.sleep", noted)
    with dial(proxy) as wire:
        wire.settimeout(5)
        proxy.trouble(Trouble.SLOW)
        wire.sendall(b"1\n")
        assert wire.recv(10) == b"1\n"
    assert slept == [SLOW_SECONDS, SLOW_SECONDS]


def test_a_lost_answer_was_carried_out_and_never_comes(proxy: Proxy, echo: Echo) -> None:
    with dial(proxy) as wire:
        proxy.trouble(Trouble.DEAF)
        wire.sendall(b"1\n")
        wait_until(lambda: b"1\n" in echo.heard, "the request has arrived")
        assert is_silent(wire)
        proxy.heal()
        with pytest.raises(ConnectionResetError):
            wire.recv(10)


def test_half_open_the_server_is_rid_of_it_and_the_client_does_not_know(
    proxy: Proxy, echo: Echo
) -> None:
    with dial(proxy) as wire:
        proxy.trouble(Trouble.HALF_OPEN)
        wait_until(lambda: echo.heard[-1] in (b"reset", b"end"), "the server's end is gone")
        wire.sendall(b"1\n")
        assert is_silent(wire)
        proxy.heal()
        with pytest.raises(ConnectionResetError):
            wire.recv(10)
    assert b"1\n" not in echo.heard


def test_apart_nothing_passes_either_way_until_it_is_healed(proxy: Proxy, echo: Echo) -> None:
    with dial(proxy) as wire:
        proxy.trouble(Trouble.APART)
        wire.sendall(b"1\n")
        assert is_silent(wire)
        with socket.create_connection(("127.0.0.1", proxy.port), timeout=0.1) as later:
            later.sendall(b"2\n")
            assert is_silent(later)
            assert echo.heard == [b"0\n"]
            proxy.heal()
            assert (wire.recv(10), later.recv(10)) == (b"1\n", b"2\n")


def test_only_those_that_a_process_opened_may_be_apart(proxy: Proxy) -> None:
    code = (
        "import socket, sys\n"
        f"wire = socket.create_connection(('127.0.0.1', {proxy.port}))\n"
        "for line in sys.stdin.buffer:\n"
        "    wire.sendall(line)\n"
        "    print(wire.recv(10), flush=True)\n"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    with other, dial(proxy) as mine:
        assert other.stdin
        assert other.stdout
        other.stdin.write(b"1\n")
        assert other.stdout.readline() == b"b'1\\n'\n"
        proxy.trouble(Trouble.APART, opened_by(os.getpid()))
        other.stdin.write(b"2\n")
        assert other.stdout.readline() == b"b'2\\n'\n"
        mine.sendall(b"3\n")
        assert is_silent(mine)
        proxy.trouble(Trouble.APART, opened_by(other.pid))
        assert mine.recv(10) == b"3\n"
        other.stdin.close()


def test_who_has_ended_has_opened_nothing(proxy: Proxy) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with dial(proxy) as wire:
        assert not opened_by(ended.pid)(wire.getsockname()[1])
        assert opened_by(os.getpid())(wire.getsockname()[1])
