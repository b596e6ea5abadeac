"""beanstalkd by greenstalk: a tube an inbox. Its protocol has no batches."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

import greenstalk

from bench.peers.peer import House, Peer, Serial, started
from bench.sides import Client
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.unavailable import Unavailable


class Beanstalkd(Peer):
    """put, reserve, delete; its log is synced at every write (`-f 0`)."""

    name = "beanstalkd"
    libraries = ("greenstalk",)
    publishes = claims = 1

    def __init__(self, house: House) -> None:
        self.port, self.serial = free_port(), Serial()
        program, folder = shutil.which("beanstalkd"), house.place("beanstalkd")
        if not program:
            raise Unavailable("beanstalkd is not installed (apt-get install beanstalkd)")
        where = ("-l", "127.0.0.1", "-p", str(self.port))
        argv = [program, *where, "-b", folder, "-f", "0"]
        self.process = Process(argv, log=house.folder / "beanstalkd.log")
        started(self.process, self.port, stop=self.process.kill, closing=house.closing)
        with _open(self.port, "bench") as server:
            server.put(b"asked")
            told = server.stats()
            server.delete(server.reserve(timeout=1))
        # of how it syncs it tells nothing, only that it writes
        self.durable = int(told["binlog-records-written"]) > 0
        self.said = f"beanstalkd {told['version']} -b -f 0, binlog written: {self.durable}"

    def opener(self, clients: int) -> Callable[[int], Client]:
        names, port = self.serial.names(clients), self.port
        return lambda number: BeanstalkClient(port, names[number])

    def processes(self) -> list[int]:
        return [self.process.pid]


class BeanstalkClient:
    def __init__(self, port: int, tube: str) -> None:
        self.server = _open(port, tube)

    def publish(self, bodies: Sequence[bytes]) -> None:
        for body in bodies:
            self.server.put(body)

    def claim(self, limit: int) -> Sequence[Any]:
        try:
            return [self.server.reserve(timeout=0)]
        except greenstalk.TimedOutError:
            return []

    def ack(self, claimed: Sequence[Any]) -> None:
        for job in claimed:  # it raises where the job is gone
            self.server.delete(job)

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [job.body for job in claimed]

    def close(self) -> None:
        self.server.close()


def _open(port: int, tube: str) -> greenstalk.Client:
    return greenstalk.Client(("127.0.0.1", port), encoding=None, use=tube, watch=tube)
