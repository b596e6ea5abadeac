"""NATS JetStream by nats-py: one work-queue stream on files, a durable pull consumer an inbox."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import nats
import uvloop
from nats.js import JetStreamContext
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
)

from bench.peers.peer import AsyncClient, House, Peer, Serial, started
from bench.sides import Client
from tests.support import debian
from tests.support.ports import free_port
from tests.support.processes import Process

STREAM = "bench"
WAIT_SECONDS = 20.0


class JetStream(Peer):
    """A batch is published and its acks awaited; `fetch(n)`; the last ack of a batch waits for its answer."""

    name = "nats"
    libraries = ("nats-py",)

    def __init__(self, house: House) -> None:
        self.port, self.serial = free_port(), Serial()
        folder, looking = house.place("nats"), free_port()
        # without the last setting it answers first and syncs within two minutes
        (folder / "nats.conf").write_text(
            f'listen: "127.0.0.1:{self.port}"\nhttp: "127.0.0.1:{looking}"\n'
            f'jetstream {{ store_dir: "{folder}/data"\n sync_interval: always }}\n'
        )
        # the stable release knows no such setting
        program = debian.command(debian.unpacked("nats", "nats-server", suite="sid"), "nats-server")
        self.process = Process([*program, "-c", folder / "nats.conf"], log=folder / "nats.log")
        started(self.process, self.port, stop=self.process.kill, closing=house.closing)
        with urllib.request.urlopen(f"http://127.0.0.1:{looking}/varz", timeout=10) as answer:
            told = json.load(answer)
        self.durable = told["jetstream"]["config"].get("sync_always", False)
        self.said = f"nats-server {told['version']}, on files, sync_always={self.durable}"

    def opener(self, clients: int) -> Callable[[int], Client]:
        names, address = self.serial.names(clients), f"nats://127.0.0.1:{self.port}"
        asyncio.run(_outside(address, lambda stream: _prepare(stream, names)))
        return lambda number: JetStreamClient(address, names[number])

    def processes(self) -> list[int]:
        return [self.process.pid]


async def _outside(address: str, work: Callable[[JetStreamContext], Awaitable[None]]) -> None:
    connection = await nats.connect(address)
    await work(connection.jetstream(timeout=WAIT_SECONDS))
    await connection.close()


async def _prepare(stream: JetStreamContext, names: Sequence[str]) -> None:
    for old in await stream.streams_info():
        await stream.delete_stream(old.config.name)
    await stream.add_stream(
        StreamConfig(
            name=STREAM,
            subjects=[f"{STREAM}.>"],
            storage=StorageType.FILE,
            num_replicas=1,
            retention=RetentionPolicy.WORK_QUEUE,
            discard=DiscardPolicy.NEW,
        )
    )
    for name in names:
        await stream.add_consumer(
            STREAM,
            ConsumerConfig(
                durable_name=name,
                filter_subject=f"{STREAM}.{name}",
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=60,
                max_ack_pending=5_000,
            ),
        )


class JetStreamClient(AsyncClient):
    def __init__(self, address: str, name: str) -> None:
        self.address, self.name = address, name
        self.start(uvloop.new_event_loop())

    async def connect(self) -> None:
        self.connection = await nats.connect(self.address)
        self.stream = self.connection.jetstream(timeout=WAIT_SECONDS)
        self.consumer = await self.stream.pull_subscribe_bind(self.name, STREAM)

    async def publishing(self, bodies: Sequence[bytes]) -> None:
        subject = f"{STREAM}.{self.name}"
        sent = [await self.stream.publish_async(subject, body) for body in bodies]
        await asyncio.gather(*sent)

    async def claiming(self, limit: int) -> Sequence[Any]:
        try:
            return await self.consumer.fetch(limit, timeout=2)
        except nats.errors.TimeoutError:
            return []

    async def acking(self, claimed: Sequence[Any]) -> None:
        for message in claimed[:-1]:
            await message.ack()
        await claimed[-1].ack_sync(timeout=WAIT_SECONDS)

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [message.data for message in claimed]

    async def closing(self) -> None:
        await self.connection.close()
