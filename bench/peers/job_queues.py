"""PGQueuer and procrastinate, below their workers: the calls those make, without what they add."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import asyncpg
import orjson
import procrastinate
import uvloop
from pgqueuer.adapters.drivers.asyncpg import AsyncpgDriver
from pgqueuer.ports.repository import EntrypointExecutionParameter
from pgqueuer.queries import Queries
from procrastinate.jobs import Status

from bench.peers.peer import AsyncClient, House
from bench.peers.postgres import PostgresPeer
from bench.sides import Client


class PGQueuer(PostgresPeer):
    """`Queries.enqueue`, `dequeue`, `log_jobs` on asyncpg; an inbox is an entrypoint."""

    name = "pgqueuer"
    libraries = ("pgqueuer", "asyncpg")
    analysed = "pgqueuer"

    def __init__(self, house: House) -> None:
        super().__init__(house)
        asyncio.run(self._install())

    async def _install(self) -> None:
        connection = await asyncpg.connect(self._address())
        await Queries(AsyncpgDriver(connection)).install()
        await connection.close()

    def _address(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.server.port}/{self.name}"

    def opener(self, clients: int) -> Callable[[int], Client]:
        self.execute("TRUNCATE pgqueuer, pgqueuer_log")
        names, address = self.serial.names(clients), self._address()
        return lambda number: PGQueuerClient(address, names[number])


class PGQueuerClient(AsyncClient):
    def __init__(self, address: str, entrypoint: str) -> None:
        self.address, self.entrypoint = address, entrypoint
        self.me = uuid.uuid4()
        self.start(uvloop.new_event_loop())

    async def connect(self) -> None:
        self.connection = await asyncpg.connect(self.address)
        self.queries = Queries(AsyncpgDriver(self.connection))
        self.wanted = {self.entrypoint: EntrypointExecutionParameter(concurrency_limit=0)}

    async def publishing(self, bodies: Sequence[bytes]) -> None:
        count = len(bodies)
        made = await self.queries.enqueue([self.entrypoint] * count, list(bodies), [0] * count)
        if len(made) != count:
            raise RuntimeError("not every job was made")

    async def claiming(self, limit: int) -> Sequence[Any]:
        return await self.queries.dequeue(
            batch_size=limit,
            entrypoints=self.wanted,
            queue_manager_id=self.me,
            global_concurrency_limit=None,
            heartbeat_timeout=timedelta(seconds=60),
        )

    async def acking(self, claimed: Sequence[Any]) -> None:
        await self.queries.log_jobs([(job, "successful", None) for job in claimed])

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [job.payload for job in claimed]

    async def closing(self) -> None:
        await self.connection.close()


class Procrastinate(PostgresPeer):
    """`defer`, `batch_defer`, `fetch_job`, `finish_job` on psycopg; finished jobs stay, its default."""

    name = "procrastinate"
    libraries = ("procrastinate", "psycopg")
    claims = 1
    analysed = "procrastinate_jobs"

    def __init__(self, house: House) -> None:
        super().__init__(house)
        asyncio.run(self._install())

    async def _install(self) -> None:
        app = _app(self.server.address(self.name))
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    def opener(self, clients: int) -> Callable[[int], Client]:
        tables = "procrastinate_jobs, procrastinate_events, procrastinate_workers"
        self.execute(f"TRUNCATE {tables} RESTART IDENTITY CASCADE")
        names, address = self.serial.names(clients), self.server.address(self.name)
        return lambda number: ProcrastinateClient(address, names[number])


class ProcrastinateClient(AsyncClient):
    def __init__(self, address: str, queue: str) -> None:
        self.app, self.queue = _app(address), queue
        task = self.app.task(name="bench")(_nothing)
        self.deferrer = task.configure(queue=queue)
        self.start(uvloop.new_event_loop())

    async def connect(self) -> None:
        await self.app.open_async()
        self.jobs = self.app.job_manager
        self.me = await self.jobs.register_worker()

    async def publishing(self, bodies: Sequence[bytes]) -> None:
        events = [{"event": orjson.loads(body)} for body in bodies]
        if len(events) == 1:
            await self.deferrer.defer_async(**events[0])
        elif len(await self.deferrer.batch_defer_async(*events)) != len(events):
            raise RuntimeError("not every job was made")

    async def claiming(self, limit: int) -> Sequence[Any]:
        job = await self.jobs.fetch_job(queues=[self.queue], worker_id=self.me)
        return [job] if job else []

    async def acking(self, claimed: Sequence[Any]) -> None:
        for job in claimed:  # it raises where the job is not under way
            await self.jobs.finish_job(job, status=Status.SUCCEEDED, delete_job=False)

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [job.task_kwargs["event"] for job in claimed]

    async def closing(self) -> None:
        await self.app.close_async()


def _app(address: str) -> procrastinate.App:
    connector = procrastinate.PsycopgConnector(conninfo=address, min_size=1, max_size=1)
    return procrastinate.App(connector=connector)


def _nothing(**_: object) -> None: ...
