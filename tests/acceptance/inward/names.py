"""A name server that says what it is told, differently the second time if it is told so (RFC 1035)."""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Sequence
from ipaddress import ip_address

A, CNAME, AAAA = 1, 5, 28
CODES = {"SERVFAIL": 2, "NXDOMAIN": 3}
MOST_BYTES = 512  # of an answer by UDP: a longer one is asked for again by TCP
Answers = Sequence[Sequence[str]]


class Names:
    """On port 53 of an address. `default`: the addresses of any name that nothing is said of."""

    def __init__(self, address: str, *, default: Sequence[str]) -> None:
        self._default = default
        self._said: dict[str, Answers] = {}
        self._wrong: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._asked: Counter[tuple[str, int]] = Counter()
        self._lock = threading.Lock()
        self._udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._udp.bind((address, 53))
        self._tcp = socket.create_server((address, 53))
        for serve in (self._datagrams, self._connections):
            threading.Thread(target=serve, daemon=True).start()

    def say(self, name: str, answers: Answers) -> None:
        """The i-th lookup from now on gets the i-th answer, the last one repeats; [] is no address."""
        with self._lock:
            self._said[name] = answers
            for kind in (A, AAAA):
                del self._asked[name, kind]

    def alias(self, name: str, other: str) -> None:
        """It is another name (CNAME)."""
        self._aliases[name] = other

    def fail(self, name: str, how: str) -> None:
        """NXDOMAIN, SERVFAIL, or TIMEOUT: no answer at all."""
        self._wrong[name] = how

    def lookups(self, name: str) -> int:
        """How often the name was looked up."""
        return max(self._asked[name, A], self._asked[name, AAAA])

    def _datagrams(self) -> None:
        while True:
            question, peer = self._udp.recvfrom(MOST_BYTES)
            answer = self._answer(question)
            if len(answer) > MOST_BYTES:
                end = 12 + len(_read_name(question)) + 2 + 4
                answer = struct.pack(
                    "!HHHHHH", *struct.unpack("!H", answer[:2]), 0x8380, 1, 0, 0, 0
                )
                answer += question[12:end]
            if answer:
                self._udp.sendto(answer, peer)

    def _connections(self) -> None:
        while True:
            peer, _ = self._tcp.accept()
            with peer:
                peer.settimeout(5)
                while len(size := peer.recv(2)) == 2:
                    answer = self._answer(peer.recv(struct.unpack("!H", size)[0]), again=True)
                    peer.sendall(struct.pack("!H", len(answer)) + answer)

    def _answer(self, question: bytes, *, again: bool = False) -> bytes:
        name = _read_name(question)
        kind = struct.unpack("!H", question[14 + len(name) :][:2])[0]
        name = name.lower()
        how = self._wrong.get(name)
        if how == "TIMEOUT":
            return b""
        records = [] if how else self._records(name, kind, again=again)
        head = question[:2] + struct.pack(
            "!HHHHH", 0x8180 | CODES.get(how or "", 0), 1, len(records), 0, 0
        )
        return head + question[12 : 12 + len(name) + 2 + 4] + b"".join(records)

    def _records(self, name: str, kind: int, *, again: bool) -> list[bytes]:
        if name in self._aliases:
            other = self._aliases[name]
            chain = _record(name, CNAME, _written(other))
            return [chain, *self._records(other, kind, again=again)]
        with self._lock:
            self._asked[name, kind] += not again
            turn = self._asked[name, kind] - 1
        answers = self._said.get(name, [self._default])
        found = map(ip_address, answers[min(turn, len(answers) - 1)])
        return [
            _record(name, kind, a.packed) for a in found if kind == (A if a.version == 4 else AAAA)
        ]


def _record(name: str, kind: int, data: bytes) -> bytes:
    return _written(name) + struct.pack("!HHIH", kind, 1, 0, len(data)) + data


def _written(name: str) -> bytes:
    parts = [label.encode() for label in name.split(".")]
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


def _read_name(question: bytes) -> str:
    labels, at = [], 12
    while size := question[at]:
        labels.append(question[at + 1 : at + 1 + size].decode())
        at += 1 + size
    return ".".join(labels)
