"""SIGTERM: ready turns, held calls answer, streams are sent away over ten seconds."""

from __future__ import annotations

import time
from pathlib import Path

from tests.acceptance.conftest import SetUp
from tests.acceptance.stage import Stage, call
from tests.support.processes import Process
from tests.support.waiting import wait_until


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
    began = time.monotonic()
    here.served.process.popen.terminate()
    wait_until(
        lambda: call(f"{here.served.url}/health/ready")[0] == 503,
        "ready to turn",
        timeout_seconds=3,
    )
    assert held.popen.wait(5) == 0
    assert '"events":[]' in held.log.read_text()
    told = [stream.wait_for("reconnect", timeout_seconds=15) for stream in streams]
    assert {frame.data["reason"] for frame in told} == {"shutdown"}
    assert len({frame.data["retry_after_ms"] for frame in told}) > len(told) // 2
    spread = max(frame.at for frame in told) - min(frame.at for frame in told)
    assert 2 < spread < 12
    assert here.served.process.popen.wait(20) == 0
    assert time.monotonic() - began < 20


def _connections(here: Stage) -> list[str]:
    """Established connections to the server's port."""
    port = f":{here.served.port:04X}"
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return [line for line in lines if line.split()[1].endswith(port) and line.split()[3] == "01"]


def test_sigterm_without_streams_is_quick(stage: SetUp) -> None:
    here = stage()
    here.publish()
    began = time.monotonic()
    assert here.served.stop() == 0
    assert time.monotonic() - began < 8
