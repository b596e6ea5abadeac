"""Access tokens of a kept login: shared, refreshed in time by one, and never lost on the way."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx2
import pytest

from restante_agent import (
    NO_RETRY,
    AsyncClient,
    Client,
    ConfigurationError,
    InvalidClient,
    LoginBusy,
    LoginEnded,
    OAuthError,
    ServerFailure,
    Unreachable,
)
from restante_agent.cli.command_line import inherited
from restante_agent.wire.login import LOCK_SECONDS, Login
from restante_agent.wire.token import ClientCredentials
from tests.sdk.authorization_server import BASE, broken, refusing
from tests.sdk.conftest import HandClock
from tests.sdk.fake_answers import AGENT
from tests.sdk.login_family import WHICH, Family


@pytest.fixture
def family(clock: HandClock, tmp_path: Path) -> Family:
    return Family(clock, tmp_path)


def test_an_access_token_is_shared_and_renewed_before_its_end_by_one(family: Family) -> None:
    first, second = family.client(), family.client()
    token = first.perform(WHICH)
    assert second.perform(WHICH) == first.perform(WHICH) == token
    assert family.refreshes == 1
    assert first.agent_id == AGENT
    family.clock.now += 539
    assert first.perform(WHICH) == token
    family.clock.now += 1
    following = second.perform(WHICH)
    assert following != token
    assert first.perform(WHICH) == following
    assert family.client().perform(WHICH) == following
    assert family.refreshes == 2
    assert "scope" not in family.server.asked[0]


def test_by_a_clock_that_was_set_back_no_token_lives_longer(family: Family) -> None:
    family.client().perform(WHICH)
    family.clock.now -= 7200
    late = family.client()
    late.perform(WHICH)
    assert family.refreshes == 2
    family.clock.now += 541
    late.perform(WHICH)
    assert family.refreshes == 3


def test_a_token_that_the_server_refuses_is_not_taken_from_the_others_again(
    family: Family,
) -> None:
    client, other = family.client(), family.client()
    stale = client.perform(WHICH)
    answer = family.server.answer

    def refuse(request: httpx2.Request) -> httpx2.Response:
        if request.headers.get("authorization") == f"Bearer {stale}":
            return httpx2.Response(401, json={"type": "/problems/unauthenticated", "status": 401})
        return answer(request)

    client, other = (family.client(transport=httpx2.MockTransport(refuse)) for _ in range(2))
    assert client.perform(WHICH) == other.perform(WHICH) != stale
    assert family.refreshes == 2


def test_an_answer_that_was_lost_is_asked_for_again_within_the_grace(family: Family) -> None:
    """By the same token, soon, whatever the client's policy: the server gives the same child."""
    family.server.break_next = [broken, broken]
    assert family.client(retry=NO_RETRY).perform(WHICH)
    assert [form["refresh_token"] for form in family.server.asked] == ["rstr_1"] * 3
    assert sum(family.clock.slept) < 2
    assert family.kept.refresh_token == "rstr_2"


def test_waits_of_a_busy_server_are_made_without_the_lock(family: Family) -> None:
    family.server.break_next = [refusing(429, "temporarily_unavailable", **{"retry-after": "20"})]
    handle = family.handle()
    free: list[bool] = []

    def sleep(seconds: float) -> None:
        free.append(handle.try_lock())
        handle.unlock()
        family.clock.slept.append(seconds)

    family.client(sleep=sleep).perform(WHICH)
    assert free == [True]
    assert family.clock.slept[0] >= 20


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (refusing(401, "invalid_client"), InvalidClient),
        (refusing(400, "invalid_request"), OAuthError),
        (refusing(500, "server_error"), ServerFailure),
        (broken, Unreachable),
    ],
)
def test_refusals_that_may_pass_leave_the_login(
    family: Family,
    reply: Callable[[httpx2.Request], httpx2.Response],
    error: type[Exception],
) -> None:
    family.server.break_next = [reply] * 3
    with pytest.raises(error):
        family.client(retry=NO_RETRY).perform(WHICH)
    assert family.kept.refresh_token == "rstr_1"


def test_a_login_that_is_over_says_so_and_is_forgotten(family: Family) -> None:
    client, other = family.client(), family.client()
    client.perform(WHICH)
    family.server.alive.clear()
    family.clock.now += 600
    with pytest.raises(LoginEnded, match=f"login of {AGENT} at {BASE} is over; log in again: rest"):
        client.perform(WHICH)
    assert family.handle().read() is None
    asked = family.refreshes
    with pytest.raises(LoginEnded):
        other.perform(WHICH)
    assert family.refreshes == asked  # the server need not be asked about what is not there
    family.begin()
    assert client.perform(WHICH) == other.perform(WHICH)


def test_only_the_token_that_was_refused_is_forgotten(family: Family) -> None:
    """A new login that came in between, of whoever does not keep to the lock, stays and is used."""
    answer = family.server.answer
    family.server.alive.clear()

    def late(request: httpx2.Request) -> httpx2.Response:
        reply = answer(request)
        if family.refreshes == 1 and request.url.path == "/oauth/token":
            family.begin()
        return reply

    assert family.client(transport=httpx2.MockTransport(late)).perform(WHICH)
    assert [form["refresh_token"] for form in family.server.asked] == ["rstr_1", "rstr_2"]
    assert family.kept.refresh_token == "rstr_3"


def test_what_could_not_be_kept_is_not_asked_for(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = family.client()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(ConfigurationError, match="No space left"):
            client.perform(WHICH)
    assert not family.refreshes
    assert client.perform(WHICH)


def test_a_lock_that_is_not_let_go_is_an_error_that_passes(family: Family) -> None:
    client, holder = family.client(), family.handle()
    assert holder.try_lock()
    with pytest.raises(LoginBusy, match="holds the lock"):
        client.perform(WHICH)
    assert LOCK_SECONDS <= sum(family.clock.slept) < LOCK_SECONDS + 1
    holder.unlock()
    assert client.perform(WHICH)


def test_keys_are_minted_by_a_token_that_is_new(family: Family) -> None:
    client = family.client()
    client.perform(WHICH)
    client._drive(client.core.obtain(None, fresh=True))
    assert family.refreshes == 2


def test_no_token_is_told_in_errors_and_logs(
    family: Family, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    family.server.break_next = [broken] * 3
    client = family.client(retry=NO_RETRY)
    with pytest.raises(Unreachable) as lost:
        client.perform(WHICH)
    token = client.perform(WHICH)
    family.server.alive.clear()
    family.clock.now += 600
    with pytest.raises(LoginEnded) as ended:
        client.perform(WHICH)
    for secret in ("rstr_", token):
        for text in (caplog.text, repr(lost.value), str(ended.value), repr(client.core)):
            assert secret not in text


def test_a_login_is_of_one_server_and_has_no_secret(family: Family) -> None:
    with pytest.raises(ConfigurationError, match="this is a login at"):
        Client("https://other.example", login=family.handle())
    with pytest.raises(ConfigurationError, match="either a login, or a client_secret"):
        Client(BASE, AGENT, "secret", login=family.handle())


def test_a_secret_goes_before_a_login_and_a_login_before_nothing(
    family: Family, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("URL", "CLIENT_ID", "CLIENT_SECRET"):
        monkeypatch.delenv(f"RESTANTE_{name}", raising=False)
    monkeypatch.setenv("RESTANTE_STATE_DIR", str(family.folder))
    for kind in (Client, AsyncClient):
        client = kind.from_environment()
        assert (client.agent_id, client.core.base_url) == (AGENT, BASE)
        assert isinstance(client.core.credentials, Login)
    monkeypatch.setenv("RESTANTE_CLIENT_ID", "agt_other")
    with pytest.raises(ConfigurationError, match="no login of agt_other here"):
        Client.from_environment()
    monkeypatch.setenv("RESTANTE_CLIENT_SECRET", "s")
    with pytest.raises(ConfigurationError, match="set RESTANTE_URL in"):
        Client.from_environment()
    monkeypatch.setenv("RESTANTE_URL", BASE)
    assert isinstance(Client.from_environment().core.credentials, ClientCredentials)


def test_a_commands_environment_has_no_key_of_a_login() -> None:
    environ = {"RESTANTE_AGENT_KEY": "k", "RESTANTE_CLIENT_SECRET": "s", "PATH": "/bin"}
    assert inherited(environ, with_secret=False) == {"PATH": "/bin"}
    assert inherited(environ, with_secret=True) == environ


def test_the_async_client_shares_it_too(family: Family) -> None:
    token = family.client().perform(WHICH)
    found: list[str] = []

    async def main() -> None:
        options = family.options(transport=family.server.transport())
        async with AsyncClient(BASE, **options) as client:
            found.append(await client.perform(WHICH))
            family.clock.now += 541
            found.append(await client.perform(WHICH))

    anyio.run(main)
    assert found[0] == token != found[1]
    assert family.client().perform(WHICH) == found[1]
