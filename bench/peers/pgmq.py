"""pgmq: its SQL in a private PostgreSQL, a queue (a table) an inbox. Its text is fetched, not kept here."""

from __future__ import annotations

import hashlib
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

import psycopg

from bench.peers.peer import House
from bench.peers.postgres import PostgresPeer
from bench.sides import Client
from tests.support.debian import cache
from tests.support.unavailable import Unavailable

VERSION = "1.5.1"
SOURCE = f"https://raw.githubusercontent.com/pgmq/pgmq/v{VERSION}/pgmq-extension/sql/pgmq.sql"
SHA256 = "65b9302faa660539584769a572b57f2df76ccf1b3a2153c37cefc57b8db633e9"


def sql() -> str:
    """The functions' text, from the cache or from the project's repository, checked."""
    kept = cache() / f"pgmq-{VERSION}.sql"
    if not kept.exists():
        try:
            with urllib.request.urlopen(SOURCE, timeout=20) as answer:
                content = answer.read()
        except (urllib.error.URLError, OSError) as error:
            raise Unavailable(f"{SOURCE}: {error} (it may be laid at {kept})") from None
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(content)
    content = kept.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise Unavailable(f"{kept} is not pgmq {VERSION}")
    return content.decode()


class PGMQ(PostgresPeer):
    """`send`, `send_batch`, `read`, `delete` on psycopg."""

    name = "pgmq"
    libraries = ("psycopg",)

    def __init__(self, house: House) -> None:
        text = sql()
        super().__init__(house)
        self.execute(text)
        self.said = f"pgmq {VERSION} {self.said}"
        self._queues: list[str] = []

    def opener(self, clients: int) -> Callable[[int], Client]:
        self.execute("SELECT 1", *(f"SELECT pgmq.drop_queue('{name}')" for name in self._queues))
        self._queues = self.serial.names(clients)
        self.execute(*(f"SELECT pgmq.create('{name}')" for name in self._queues))
        names, address = self._queues, self.server.address(self.name)
        return lambda number: PGMQClient(address, names[number])


class PGMQClient:
    def __init__(self, address: str, queue: str) -> None:
        self.connection = psycopg.connect(address, autocommit=True)
        self.queue = queue

    def publish(self, bodies: Sequence[bytes]) -> None:
        texts = [body.decode() for body in bodies]
        if len(texts) == 1:
            made = self._rows("SELECT pgmq.send(%s, %s::jsonb)", texts[0])
        else:
            made = self._rows("SELECT pgmq.send_batch(%s, %s::jsonb[])", texts)
        if len(made) != len(bodies):
            raise RuntimeError("not every message was made")

    def claim(self, limit: int) -> Sequence[Any]:
        return self._rows("SELECT msg_id, message FROM pgmq.read(%s, 60, %s)", limit)

    def ack(self, claimed: Sequence[Any]) -> None:
        numbers = [number for number, _ in claimed]
        if len(self._rows("SELECT pgmq.delete(%s, %s::bigint[])", numbers)) != len(numbers):
            raise RuntimeError("an ack found its message gone")

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [message for _, message in claimed]

    def close(self) -> None:
        self.connection.close()

    def _rows(self, statement: str, argument: object) -> list[Any]:
        return self.connection.execute(statement, (self.queue, argument)).fetchall()
