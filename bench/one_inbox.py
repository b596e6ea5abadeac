"""`python -m bench.one_inbox`: what one inbox takes, as its publishers are serial, and what an event weighs.

Sixteen publishers at `restante serve --workers 2`, each at an inbox of its own and all at one; then the bytes
of an event: in the tables, in the archive, in the binary log. The figures of `bench/scale.py`
come from here.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from bench.cell import Cell, Half, run
from bench.load import Load, processor_seconds
from bench.product import Agent, Product
from bench.sides import HTTPClient
from tests.support.group import start_group
from tests.support.servers import Server, start
from tests.support.serving import RestanteCommand

CLIENTS = 16
LIVE = ("agent_inbox", "event_content")
ARCHIVE = ("archived_event",)
WEIGHED = 20_000
EMPTY = 500
KINDS = ("mysql", "mariadb", "cluster")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.one_inbox", description=__doc__)
    parser.add_argument("--kind", choices=KINDS, default="mysql")
    parser.add_argument("--batches", default="1,10,100")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each slice")
    parser.add_argument("--folder", help="where the servers' data lies (not in memory)")
    parser.add_argument(
        "--server-option",
        action="append",
        default=[],
        help="of the database, --option=--name=value",
    )
    args = parser.parse_args()
    with ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(dir=args.folder)))
        server = _server(args.kind, folder, closing, args.server_option)
        product = Product(server.create_database("bench"), folder)
        closing.callback(product.stop)
        _ask_in_vain(server, product)
        _weigh(server, product)
        print(f"{'':42}{'events/s':>10}{'p99 ms':>9}   processor µs an event: database, web")
        for batch in map(int, filter(None, args.batches.split(","))):
            for inboxes in (CLIENTS, 1):
                load = Load()
                cell = _measure(product, server, inboxes, batch, args.seconds)
                for name, half in (("publish", cell.publish), ("claim + ack", cell.consume)):
                    print(
                        f"  {CLIENTS} clients, {inboxes:>2} inboxes, {name:>11} b{batch:<4}"
                        f"{half.rate:>10,.0f}{half.p99_ms:>9.0f}   {_parts(half)}   {load.told()}"
                    )


def _server(kind: str, folder: Path, closing: ExitStack, options: list[str]) -> Server:
    """One that takes writes, durable; of a group its primary."""
    if kind == "cluster":
        group = start_group(folder / kind, options=options)
        closing.callback(group.kill)
        return group.primary()
    server = start(kind, folder / kind, options=["--innodb-buffer-pool-size=1G", *options])
    closing.callback(server.kill)
    return server


def _open(agents: list[Agent], port: int, number: int) -> HTTPClient:
    agent = agents[number % len(agents)]
    return HTTPClient("127.0.0.1", port, agent.agent_id, agent.tokens)


def _measure(product: Product, server: Server, inboxes: int, batch: int, seconds: float) -> Cell:
    agents = product.agents(inboxes)
    watched = [server.pid, *product.served.worker_pids()]
    opener = partial(_open, agents, product.port)
    return run(opener, clients=CLIENTS, batch=batch, seconds=seconds, servers=watched)


def _parts(half: Half) -> str:
    _, database, *web = half.spent
    return f"{1e6 * database / half.events:,.0f}, {1e6 * sum(web) / half.events:,.0f}"


def _ask_in_vain(server: Server, product: Product) -> None:
    """What a claim costs that finds nothing."""
    (agent,) = product.agents(1)
    client = HTTPClient("127.0.0.1", product.port, agent.agent_id, agent.tokens)
    web = product.served.worker_pids()
    before = processor_seconds(server.pid), sum(map(processor_seconds, web))
    for _ in range(EMPTY):
        client.claim(10)
    client.close()
    after = processor_seconds(server.pid), sum(map(processor_seconds, web))
    database, workers = (1e6 * (a - b) / EMPTY for b, a in zip(before, after, strict=True))
    print(f"  a claim that finds nothing: {database:,.0f}, {workers:,.0f} processor µs")


def _weigh(server: Server, product: Product) -> None:
    """Bytes of an event with a payload of 300, in files and in the binary log."""
    (agent,) = product.agents(1)
    client = HTTPClient("127.0.0.1", product.port, agent.agent_id, agent.tokens)
    body = b'{"text":"' + b"x" * 289 + b'"}'
    tables = log = 0
    for done in range(0, 2 * WEIGHED, 100):
        if done == WEIGHED:  # what is settled has made room by now
            tables, log = _bytes(server, LIVE), _log_bytes(server)
        client.publish([body] * 100)
        client.ack(client.claim(100))
    print(
        f"  an event in the log, completed: {(_bytes(server, LIVE) - tables) / WEIGHED:,.0f} bytes"
    )
    client.close()
    print(
        f"  published, claimed and acked: {(_log_bytes(server) - log) / WEIGHED:,.0f} bytes of log"
    )
    tables = _bytes(server, ARCHIVE)
    soon = {"RESTANTE_RETENTION_DAYS": "0.00001", "RESTANTE_PUBLIC_URL": product.served.url}
    command = RestanteCommand(product.url, settings=soon)
    rows = 0
    while rows < 2 * WEIGHED:
        command.run("maintain", "--once", timeout_seconds=300)
        found = int(str(server.execute("SELECT COUNT(*) FROM bench.archived_event")[0][0]))
        if found == rows:
            break
        rows = found
    print(
        f"  archived: {(_bytes(server, ARCHIVE) - tables) / max(1, rows):,.0f} bytes ({rows} rows)"
    )


def _bytes(server: Server, tables: tuple[str, ...]) -> int:
    """Size of the files of tables, as the database tells it."""
    names = ", ".join(f"'bench/{table}'" for table in tables)
    view = "INNODB_TABLESPACES" if server.kind == "mysql" else "INNODB_SYS_TABLESPACES"
    rows = server.execute(
        f"SELECT SUM(FILE_SIZE) FROM information_schema.{view} WHERE NAME IN ({names})"
    )
    return int(str(rows[0][0]))


def _log_bytes(server: Server) -> int:
    """Of the whole binary log so far."""
    if server.kind != "mysql":
        return 0
    return sum(int(str(row[1])) for row in server.execute("SHOW BINARY LOGS"))


if __name__ == "__main__":
    main()
