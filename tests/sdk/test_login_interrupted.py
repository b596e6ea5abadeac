"""What the server has given is kept, whoever interrupts the client that waits for it."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from restante_agent import AsyncClient
from tests.sdk.authorization_server import BASE
from tests.sdk.conftest import HandClock
from tests.sdk.login_family import WHICH, Family


@pytest.fixture
def family(clock: HandClock, tmp_path: Path) -> Family:
    return Family(clock, tmp_path)


def test_a_cancelled_task_keeps_what_it_was_given(family: Family) -> None:
    """The server has spent the token when the task is cancelled: its child must not be lost."""
    scopes: list[anyio.CancelScope] = []

    async def slow(request: httpx2.Request) -> httpx2.Response:
        if request.url.path == "/oauth/token":
            scopes[0].cancel()
        await anyio.lowlevel.checkpoint()
        return family.server.answer(request)

    async def main() -> None:
        options = family.options(transport=httpx2.MockTransport(slow))
        async with AsyncClient(BASE, **options) as client:
            with anyio.CancelScope() as scope:
                scopes.append(scope)
                await client.perform(WHICH)

    anyio.run(main)
    assert scopes[0].cancelled_caught
    assert family.kept.refresh_token == "rstr_2"
    handle = family.handle()
    assert handle.try_lock()
    handle.unlock()


def test_an_interrupt_keeps_what_was_given(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes while the answer is on its way; it is kept before the interrupt is passed on."""

    def interrupted(future: Future[Any], timeout: float | None = None) -> Any:
        raise KeyboardInterrupt

    client = family.client()
    with monkeypatch.context() as patch:
        patch.setattr(Future, "result", interrupted)
        with pytest.raises(KeyboardInterrupt):
            client.perform(WHICH)
    assert family.kept.refresh_token == "rstr_2"
    assert client.perform(WHICH)
    assert family.refreshes == 1
