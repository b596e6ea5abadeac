"""The database goes away under open streams, and comes back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Serve, upgraded
from tests.acceptance.stage import Stage, call
from tests.support import servers
from tests.support.servers import Server
from tests.support.unavailable import Unavailable
from tests.support.waiting import wait_until


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A MariaDB that this test may kill."""
    try:
        one = servers.start("mariadb", tmp_path / "mariadb", durable=False)
    except Unavailable as error:
        pytest.skip(str(error))
    yield one
    one.kill()


def test_rings_go_on_once_the_database_is_back(
    server: Server, serve: Serve, tmp_path: Path
) -> None:
    url = server.create_database("restante")
    settings = {
        "RESTANTE_INSTANCE": str(tmp_path / "instance"),
        "RESTANTE_HEARTBEAT_SECONDS": "2",
    }
    here = Stage(upgraded(url), serve(url, settings=settings))
    stream = here.listen()
    stream.wait_for("heartbeat")
    token = here.token(here.agent)
    server.kill()
    # it beats on for a while, and does not end with the database
    beats = len(stream.of("heartbeat"))
    stream.wait_for("heartbeat", count=beats + 1)
    status, told = call(here.address("inbox/stats"), token)
    assert (status, told["type"]) == (503, "/problems/overloaded")
    assert call(f"{here.served.url}/health/ready")[0] == 503
    # but nobody who may have been revoked listens for ever
    assert stream.wait_for("reconnect", timeout_seconds=60).data["reason"] == "lifetime"
    server.restart()
    wait_until(
        lambda: call(f"{here.served.url}/health/ready")[0] == 200, "ready again", timeout_seconds=30
    )
    again = here.listen()
    again.wait_for("ready")
    here.publish()
    again.wait_for("inbox_updated")
    assert len(here.claim()) == 1
