"""Ten thousand agents whose server restarts under them: all are back, at their own pace, and nothing fails.

`python -m tests.chaos.herd mariadb --agents 10000`: one process with a socket for each, on loopback.
Ends with 1 where an answer was a fault, where a stream did not come back, or where all came at once.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import insert, select

from bench.listeners import allow_sockets
from restante.identity.agents import create_agent
from restante.identity.credentials import Client
from restante.identity.principal import PrincipalKind
from restante.identity.projects import create_project
from restante.identity.scopes import parse_scope
from restante.identity.tenants import create_tenant
from restante.identity.token_keys import TokenKeys
from restante.storage.engine import make_engine
from restante.storage.ids import Prefix, encode_id, new_ids
from restante.storage.tables.identity import credential, granted_scope, principal
from restante.storage.tables.inboxes import inbox
from restante.storage.transaction import Database, Session
from tests.acceptance.seeds import drawn_seed, say
from tests.support.servers import start
from tests.support.serving import SECRET_KEY, Alone, RestanteCommand, Served
from tests.support.unavailable import Unavailable

HOST = "127.0.0.1"
OPENING = 200
"""So many at once knock at the door; the others of the same moment wait in line."""
BACK_SECONDS = 300.0
SCOPES = ("agent:main:claim", "agent:main:read")


@dataclass
class Agent:
    """One that listens. `waits`: what it was told to wait before it comes back, in seconds."""

    target: str
    token: str
    readies: int = 0
    told_ms: int = 0
    back_at: float = 0.0


@dataclass
class Herd:
    """All of them. `statuses`: of all answers; 0: no connection, or one that was cut."""

    port: int
    agents: list[Agent]
    draw: random.Random
    statuses: Counter[int] = field(default_factory=Counter)
    goodbyes: Counter[str] = field(default_factory=Counter)
    door: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(OPENING))

    async def listen(self, agent: Agent) -> None:
        """For ever: subscribe, hear, and come back after the pause that one is told."""
        pause = 0.0
        while True:
            await asyncio.sleep(pause)
            pause = await self._once(agent)

    async def _once(self, agent: Agent) -> float:
        writer = None
        try:
            async with self.door:
                reader, writer = await asyncio.open_connection(HOST, self.port)
                writer.write(
                    f"GET {agent.target} HTTP/1.1\r\nHost: {HOST}:{self.port}\r\n"
                    f"Authorization: Bearer {agent.token}\r\nAccept: text/event-stream\r\n\r\n".encode()
                )
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                status = int(head.split()[1])
                self.statuses[status] += 1
                if status != 200:
                    after = re.search(r"(?i)^retry-after: (\d+)", head, re.MULTILINE)
                    return float(after[1]) + self.draw.random() if after else self._pause()
                await reader.readuntil(b"event: ready")
            agent.readies += 1
            agent.back_at = time.monotonic()
            said = await reader.readuntil(b"event: reconnect")
            self.goodbyes["reconnect"] += bool(said)
            told = json.loads(re.search(rb"\{.*\}", await reader.readuntil(b"\n\n"))[0])  # type: ignore[index]  # the frame has one
            agent.told_ms = told["retry_after_ms"]
            return agent.told_ms / 1000
        except (OSError, asyncio.IncompleteReadError):
            self.statuses[0] += 1
            return self._pause()
        finally:
            if writer is not None:
                writer.close()

    def _pause(self) -> float:
        """What a client of ours waits where it was told nothing (sdk: jittered, growing)."""
        return self.draw.uniform(0.5, 5)

    async def until(self, readies: int) -> None:
        """Return once all have been ready so often."""
        end = time.monotonic() + BACK_SECONDS
        while left := sum(agent.readies < readies for agent in self.agents):
            if time.monotonic() > end:
                raise TimeoutError(f"{left} of {len(self.agents)} are not back")
            await asyncio.sleep(0.25)


def enrol(database: Database, issuer: str, count: int) -> list[Agent]:
    """So many agents of one tenant; their tokens, which last ten minutes, are issued once all are there."""
    scopes = [scope for text in SCOPES if (scope := parse_scope(text)) is not None]
    tenant_id = database.run(lambda s: create_tenant(s, "herd", require_signatures=False).id)
    database.run(lambda s: create_project(s, tenant_id, "main"))
    clients = database.run(lambda s: _clients(s, tenant_id, count))
    keys = TokenKeys(issuer, [SECRET_KEY])
    issued = database.run(lambda s: [keys.issue(s, client, scopes) for client in clients])
    return [
        Agent(
            f"/api/v1/agents/{encode_id(Prefix.AGENT, client.principal_id)}/subscribe",
            token.access_token,
        )
        for client, token in zip(clients, issued, strict=True)
    ]


def _clients(session: Session, tenant_id: bytes, count: int) -> list[Client]:
    """One is made as any agent is, and the others are copies of its rows: ten thousand in seconds."""
    made = create_agent(session, tenant_id, name="first", grants=SCOPES)
    ids, own = new_ids(count), new_ids(count)
    for table, key, others in (
        (principal, "principal_id", [{"name": f"agent-{n}"} for n in range(count)]),
        (granted_scope, "principal_id", [{}] * count),
        (credential, "principal_id", [{"credential_id": one} for one in own]),
        (inbox, "recipient_id", [{"epoch": one} for one in own]),
    ):
        query = select(table).where(table.c[key] == made.id)
        rows = [dict(row._mapping) for row in session.connection().execute(query)]
        copies = [
            {**row, **other, key: one}
            for one, other in zip(ids, others, strict=True)
            for row in rows
        ]
        session.connection().execute(insert(table), copies)
    agent = PrincipalKind.AGENT
    return [Client(one, tenant_id, agent, its) for one, its in zip(ids, own, strict=True)]


def memory_mib(served: Served) -> int:
    """Of the web workers' own, together."""
    total = 0
    for pid in served.worker_pids():
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        total += sum(int(line.split()[1]) for line in text.splitlines() if "Private" in line)
    return total // 1024


async def stampede(herd: Herd, served: Served) -> list[str]:
    """Open all, restart the server, and wait until all are back → what was wrong."""
    tasks = [asyncio.create_task(herd.listen(agent)) for agent in herd.agents]
    try:
        began = time.monotonic()
        await herd.until(1)
        say(
            f"{len(herd.agents)} streams open in {time.monotonic() - began:.0f} s, {memory_mib(served)} MiB"
        )
        began = time.monotonic()
        await asyncio.to_thread(served.stop)
        stopped = time.monotonic()
        await asyncio.to_thread(served.restart)
        say(
            f"stopped in {stopped - began:.0f} s, served again {time.monotonic() - stopped:.0f} s later"
        )
        await herd.until(2)
        last = max(agent.back_at for agent in herd.agents)
        say(f"all are back {last - began:.0f} s after the SIGTERM, {memory_mib(served)} MiB")
    except TimeoutError as error:
        return [str(error)]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return list(wrong(herd))


def wrong(herd: Herd) -> list[str]:
    """What a restart must not do to clients."""
    found = [
        f"{n} answers were {status}"
        for status, n in herd.statuses.items()
        if status in (500, 502, 504)
    ]
    told = [agent.told_ms for agent in herd.agents if agent.told_ms]
    if len(told) < 0.9 * len(herd.agents):
        found.append(f"{len(told)} of {len(herd.agents)} were told when to come back")
    most = max(Counter(ms // 100 for ms in told).values(), default=0)
    if most > 0.1 * len(told) + 10:
        found.append(f"{most} of {len(told)} were told the same tenth of a second")
    return found


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.herd", description=__doc__)
    parser.add_argument("backend", choices=["mariadb", "mysql"])
    parser.add_argument("--agents", type=int, default=10_000)
    parser.add_argument("--seed", type=int)
    args = parser.parse_args(argv)
    seed = drawn_seed() if args.seed is None else args.seed
    say(f"{args.agents} agents on {args.backend}, seed {seed}")
    allow_sockets(args.agents)
    try:
        with tempfile.TemporaryDirectory(prefix="restante-herd-") as folder, ExitStack() as stack:
            server = start(args.backend, Path(folder) / args.backend, durable=False)
            stack.callback(server.kill)
            url = server.create_database("restante")
            RestanteCommand(url).upgrade()
            served = Alone(url, log=Path(folder) / "serve.log", workers=2)
            stack.callback(served.kill)
            served.wait_until_ready()
            engine = make_engine(url)
            agents = enrol(Database(engine), served.url, args.agents)
            engine.dispose()
            herd = Herd(served.port, agents, random.Random(seed))
            found = asyncio.run(stampede(herd, served))
    except Unavailable as error:
        sys.exit(f"the herd cannot be run here: {error}")
    say(f"answers {dict(sorted(herd.statuses.items()))}, told to come back {herd.goodbyes.total()}")
    say(f"violations {len(found)}")
    for one in found:
        say(f"  {one}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
