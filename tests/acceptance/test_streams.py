"""The doorbell over real gunicorn: within a worker, across workers, across hosts, to the end."""

from __future__ import annotations

import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from restante.storage.transaction import Database
from tests.acceptance.conftest import Serve, SetUp, upgraded
from tests.acceptance.stage import Stage, call
from tests.support.databases import create_empty
from tests.support.serving import RestanteProcess, Served, environment
from tests.support.waiting import wait_until

FIGURES = {
    "inbox_depth_per_agent",
    "oldest_pending_age_seconds",
    "lease_expirations_total",
    "lease_expiration_rate",
    "delivery_latency_ms",
    "completion_seconds",
    "claims_total",
    "claims_empty_with_claimable_total",
    "attempts_failed_total",
    "deadlock_retries_total",
    "stale_settles_total",
    "quarantined_total",
    "oldest_expired_lease_age_seconds",
    "streams_open",
    "rings_total",
    "callback_attempts_total",
    "http_request_seconds",
    "sample_age_seconds",
}


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path leaves room for a socket's name."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def served(
    backend: str, worker_folder: Path, worker_name: str
) -> Iterator[tuple[Database, Served]]:
    """A server for all tests that set nothing; with two workers where there can be two."""
    url = create_empty(backend, f"restante_{worker_name}_streams", worker_folder)
    database = upgraded(url)
    one = Served(
        url,
        log=worker_folder / "streams.log",
        workers=1 if backend == "sqlite" else 2,
        settings={"RESTANTE_INSTANCE": str(worker_folder / f"instance-{backend}")},
    )
    one.wait_until_ready()
    yield database, one
    one.process.kill_group()
    database.engine.dispose()


@pytest.fixture
def here(served: tuple[Database, Served]) -> Iterator[Stage]:
    """A stage of its own on the server of all."""
    made = Stage(*served)
    yield made
    made.close()


def test_a_stream_from_ready_to_ring(here: Stage) -> None:
    stream = here.listen()
    ready = stream.wait_for("ready")
    assert stream.status == 200
    head = {
        line.split(": ")[0].lower(): line.split(": ")[1].strip()
        for line in stream.head.splitlines()[1:]
    }
    assert head["content-type"] == "text/event-stream"
    assert head["cache-control"] == "no-cache, no-transform"
    assert head["x-accel-buffering"] == "no"
    assert ready.fields["retry"].isdigit()
    assert (ready.data["head"], ready.data["claimable"]) == (0, 0)
    assert ready.data["heartbeat_seconds"] == 30
    assert not stream.of("inbox_updated")
    here.publish()
    assert stream.wait_for("inbox_updated").data == {"cursor_hint": 1}
    # and again, until it is taken
    assert stream.wait_for("inbox_updated", count=2).data == {"cursor_hint": 1}
    assert len(here.claim()) == 1
    assert all("id" not in frame.fields for frame in stream.frames)


def test_what_waits_rings_on_connect(here: Stage) -> None:
    here.publish()
    first = here.listen()
    assert first.wait_for("ready").data["claimable"] == 1
    assert first.wait_for("inbox_updated").data == {"cursor_hint": 1}
    here.claim()
    read, behind = here.listen("?after_cursor=1"), here.listen("?after_cursor=0")
    behind.wait_for("inbox_updated")
    read.wait_for("ready")
    assert not read.of("inbox_updated")


def test_who_may_not_listen(here: Stage) -> None:
    address = here.address("subscribe")
    assert call(address)[0] == 401
    assert call(f"{address}?access_token={here.token(here.agent)}")[0] in (400, 401)
    other = here.enrol("b")
    assert call(here.address("subscribe", agent=other), here.token(here.agent))[0] == 404
    assert call(address, here.token(here.producer))[0] == 404
    status, told = call(f"{address}?after_cursor=x", here.token(here.agent))
    assert (status, told["errors"][0]["pointer"]) == (422, "after_cursor")
    assert here.listen(method="HEAD").status == 200
    assert call(here.address("inbox/stats"), here.token(here.agent))[1]["streams"] == 0


def test_every_stream_of_every_worker_is_rung(here: Stage) -> None:
    streams = [here.listen() for _ in range(6)]
    for stream in streams:
        stream.wait_for("ready")
    for round_number in range(1, 4):
        here.publish()
        for stream in streams:
            stream.wait_for_ring(round_number)
        here.claim()


@pytest.mark.servers_only
def test_another_host_hears_by_the_table(
    stage: SetUp, serve: Serve, migrated_database_url: str, short_folder: Path
) -> None:
    here = stage()
    # no run folder in common: what one host's processes share
    apart = {"XDG_RUNTIME_DIR": str(short_folder), "RESTANTE_PUBLIC_URL": here.served.url}
    there = serve(migrated_database_url, settings={**here.served.settings, **apart})
    stream = here.listen(url=there.url)
    stream.wait_for("ready")
    for number in range(1, 6):
        here.publish()
        stream.wait_for_ring(number)
        here.claim()
    # the sweep rings too where a machine is slow, and what it rings is not counted
    wait_until(lambda: figures(there)["rings_total"] > 0, "rings by the tailer")


def test_heartbeats_and_the_end_of_a_revoked_stream(stage: SetUp) -> None:
    here = stage(RESTANTE_HEARTBEAT_SECONDS="1")
    stream = here.listen()
    assert stream.wait_for("ready").data["heartbeat_seconds"] == 1
    beats = [stream.wait_for("heartbeat", count=n) for n in (1, 2, 3)]
    assert beats[0].data == {}
    disable = text("UPDATE principal SET status = 'disabled' WHERE kind = 'agent'")
    here.database.run(lambda session: session.connection().execute(disable))
    stream.wait_for("revoked")
    assert stream.ended.wait(30)
    assert call(here.address("subscribe"), here.token(here.agent))[0] == 401


def test_the_ninth_stream_closes_the_oldest(here: Stage) -> None:
    streams = []
    for _ in range(9):
        streams.append(here.listen())
        streams[-1].wait_for("ready")
    told = streams[0].wait_for("reconnect").data
    assert told["reason"] == "replaced"
    assert streams[0].ended.wait(30)
    assert not any(stream.of("reconnect") for stream in streams[1:])


def test_open_streams_hold_no_database_connection(stage: SetUp) -> None:
    here = stage(RESTANTE_DATABASE_SLOTS="2")
    agents = [here.enrol(f"x{n}") for n in range(5)]
    for agent in agents:
        for _ in range(8):
            here.listen(agent=agent).wait_for("ready")
    for _ in range(5):
        here.publish()
        assert len(here.claim()) == 1


def test_a_stream_whose_client_left_is_no_stream(here: Stage) -> None:
    stream = here.listen()
    stream.wait_for("ready")

    def streams() -> int:
        told: int = call(here.address("inbox/stats"), here.token(here.agent))[1]["streams"]
        return told

    wait_until(lambda: streams() == 1, "the stream to be counted")
    stream.close()
    wait_until(lambda: streams() == 0, "the stream to be missed")


@pytest.mark.servers_only
def test_a_maintainer_of_its_own_rings_the_web_processes(
    stage: SetUp, migrated_database_url: str, tmp_path: Path
) -> None:
    here = stage(RESTANTE_MAINTENANCE="off")
    maintainer = RestanteProcess(
        ["maintain"],
        log=tmp_path / "maintain.log",
        env=environment(migrated_database_url, here.served.settings),
    )
    wait_until(
        lambda: "maintenance_started" in maintainer.tail(), "the maintainer", timeout_seconds=60
    )
    stream = here.listen()
    stream.wait_for("ready")
    here.publish(delay_seconds=3)
    # the web processes run no timers, and nobody looks: the maintainer gives the event its number
    stream.wait_for_ring(1)
    wait_until(lambda: figures(here.served)["rings_total"] > 0, "its ring, not only the sweep's")
    assert maintainer.stop() == 0


def test_every_figure_has_its_name_before_anything_is_counted(here: Stage) -> None:
    with urllib.request.urlopen(f"{here.served.url}/metrics") as answer:
        types = [line for line in answer.read().decode().splitlines() if line.startswith("# TYPE")]
    assert {line.split()[2] for line in types} >= FIGURES
    assert len(types) == len(set(types))
    assert figures(here.served).keys() >= {
        'claims_total{kind="first"}',
        'claims_total{kind="again"}',
        'attempts_failed_total{cause="released"}',
        'quarantined_total{reason="release_loop"}',
        'deadlock_retries_total{statement="COMMIT"}',
    }


def test_the_figures_of_all_workers(here: Stage) -> None:
    before = figures(here.served)
    streams = [here.listen() for _ in range(4)]
    for stream in streams:
        stream.wait_for("ready")
    for _ in range(3):
        here.publish()
    events = here.claim(limit=3)
    orders = [
        {"event_id": e["event_id"], "claim_generation": e["claim_generation"]} for e in events
    ]
    status, _ = call(here.address("inbox/settle"), here.token(here.agent), {"ack": orders})
    assert status == 200
    counted = (
        'claims_total{kind="first"}',
        "delivery_latency_ms_count",
        "completion_seconds_count",
    )

    def grown() -> list[float]:
        now = figures(here.served)
        return [now[name] - before.get(name, 0) for name in counted]

    wait_until(lambda: grown() == [3, 3, 3], "the figures of all workers")
    wait_until(
        lambda: figures(here.served)["rings_total"] > before.get("rings_total", 0),
        "the rings",
    )
    wait_until(lambda: figures(here.served)["streams_open"] >= 4, "the streams")
    sampled = "oldest_expired_lease_age_seconds"
    wait_until(lambda: sampled in figures(here.served), "a sample")


def figures(served: Served) -> dict[str, float]:
    """What /metrics says."""
    with urllib.request.urlopen(f"{served.url}/metrics") as answer:
        lines: list[str] = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if not line.startswith("#"))
    return {name: float(amount) for name, _, amount in pairs}
