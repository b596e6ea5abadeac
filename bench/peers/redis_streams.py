"""Redis Streams by redis-py: a stream and a group an inbox; a batch is one MULTI."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

import redis

from bench.peers.peer import House, Peer, Serial, started
from bench.sides import Client
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.unavailable import Unavailable

GROUP = "bench"
ASKED = ("appendonly", "appendfsync", "no-appendfsync-on-rewrite")


class RedisStreams(Peer):
    """XADD in MULTI; XREADGROUP COUNT n; XACK and XDEL in MULTI."""

    name = "redis"
    libraries = ("redis",)

    def __init__(self, house: House) -> None:
        self.port, self.serial = free_port(), Serial()
        program, folder = shutil.which("redis-server"), house.place("redis")
        if not program:
            raise Unavailable("Redis is not installed (apt-get install redis-server)")
        where = ("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(folder))
        kept = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
        self.process = Process([program, *where, *kept], log=folder / "redis.log")
        started(self.process, self.port, stop=self.process.kill, closing=house.closing)
        with redis.Redis(port=self.port, decode_responses=True) as server:
            told = {name: server.config_get(name)[name] for name in ASKED}
            version = server.info("server")["redis_version"]
        self.durable = told["appendonly"] == "yes" and told["appendfsync"] == "always"
        self.said = " ".join([f"Redis {version}", *(f"{k}={v}" for k, v in told.items())])

    def opener(self, clients: int) -> Callable[[int], Client]:
        names, port = self.serial.names(clients), self.port
        with redis.Redis(port=port) as server:
            server.flushall()
            for name in names:
                server.xgroup_create(name, GROUP, id="0", mkstream=True)
        return lambda number: RedisClient(port, names[number])

    def processes(self) -> list[int]:
        return [self.process.pid]


class RedisClient:
    def __init__(self, port: int, name: str) -> None:
        # the protocol's second version: its answer to XREADGROUP is a list
        self.server, self.name = redis.Redis(port=port, protocol=2), name

    def publish(self, bodies: Sequence[bytes]) -> None:
        if len(bodies) == 1:
            self.server.xadd(self.name, {"p": bodies[0]})
            return
        with self.server.pipeline(transaction=True) as many:
            for body in bodies:
                many.xadd(self.name, {"p": body})
            many.execute()  # it raises where one was refused

    def claim(self, limit: int) -> Sequence[Any]:
        answer = self.server.xreadgroup(GROUP, "bench", {self.name: ">"}, count=limit)
        return answer[0][1] if answer else []

    def ack(self, claimed: Sequence[Any]) -> None:
        entries = [entry for entry, _ in claimed]
        with self.server.pipeline(transaction=True) as many:
            many.xack(self.name, GROUP, *entries)
            many.xdel(self.name, *entries)
            if many.execute()[0] != len(entries):
                raise RuntimeError("an ack found its entry gone")

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [fields[b"p"] for _, fields in claimed]

    def close(self) -> None:
        self.server.close()
