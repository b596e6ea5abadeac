"""SIGTERM: ready turns, held calls answer, streams are sent away (how: tests/workers/test_leaving.py)."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.conftest import SetUp
from tests.acceptance.stage import Stage, call
from tests.support.processes import Process
from tests.support.waiting import PATIENCE_SECONDS, wait_until


def test_sigterm_sends_everybody_away_in_order(stage: SetUp) -> None:
    here = stage(workers=2)
    agents = [here.agent, *(here.enrol(f"x{n}") for n in range(4))]
    streams = [here.listen(agent=agent) for agent in agents for _ in range(8)]
    for stream in streams:
        stream.wait_for("ready")
    bearer = f"Authorization: Bearer {here.token(here.agent)}"
    held = Process(
        ["curl", "-s", "-m", "30", "-H", bearer, here.address("inbox?wait_seconds=30")],
        log=here.served.log.with_name("held.log"),
    )
    wait_until(lambda: len(_connections(here)) > len(streams), "the held call")
    here.served.process.popen.terminate()
    wait_until(lambda: call(f"{here.served.url}/health/ready")[0] == 503, "ready to turn")
    assert held.popen.wait(PATIENCE_SECONDS) == 0
    assert '"events":[]' in held.log.read_text()
    told = [stream.wait_for("reconnect") for stream in streams]
    assert {frame.data["reason"] for frame in told} == {"shutdown"}
    assert len({frame.data["retry_after_ms"] for frame in told}) > len(told) // 2
    assert here.served.process.popen.wait(2 * PATIENCE_SECONDS) == 0


def _connections(here: Stage) -> list[str]:
    """Established connections to the server's port."""
    port = f":{here.served.port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return [line for line in lines if line.split()[1].endswith(port) and line.split()[3] == "01"]


def test_sigterm_without_streams_ends_it(stage: SetUp) -> None:
    here = stage()
    here.publish()
    assert here.served.stop() == 0
