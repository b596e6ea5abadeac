"""The device authorization grant from the device's side (RFC 8628), on a clock moved by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from restante_agent import (
    ConfigurationError,
    InvalidScope,
    OAuthError,
    RestanteError,
    UnexpectedAnswer,
    Unreachable,
)
from restante_agent.errors import LoginBusy, LoginRefused
from restante_agent.login.device import LoggedIn, log_in, log_out
from restante_agent.login.kept import KeptLogin
from restante_agent.sender import Sender
from restante_agent.wire.device_login import Codes
from tests.sdk.authorization_server import BASE, Authorization, broken, refusing
from tests.sdk.conftest import HandClock
from tests.sdk.fake_answers import AGENT
from tests.sdk.test_kept_login import none


class Device:
    def __init__(self, clock: HandClock, folder: Path) -> None:
        self.clock, self.folder = clock, folder
        self.server = Authorization(clock.monotonic)
        self.announced: list[Codes] = []
        self.decide: Callable[[], None] = lambda: None

    def login_of(self, agent_id: str = AGENT) -> KeptLogin:
        return KeptLogin(BASE, agent_id, base=self.folder, environ={}, keychain=none)

    def log_in(self, client_id: str = AGENT, *scopes: str) -> LoggedIn:
        exchange = log_in(
            BASE,
            client_id,
            scopes=scopes,
            host="shed",
            announce=self.announced.append,
            login_of=self.login_of,
            wall=self.clock.monotonic,
            random=Random(1),
        )
        return self.play(exchange)

    def log_out(self, *, local: bool = False) -> bool:
        return bool(self.play(log_out(self.login_of(), random=Random(1), local=local)))

    def play(self, exchange: Any) -> Any:
        sender = Sender(self.server.transport(), self.clock.monotonic)

        def sleep(seconds: float) -> None:
            self.clock.sleep(seconds)
            self.decide()

        return sender.play(exchange, sleep=sleep)

    def approve_after(self, seconds: float) -> None:
        end = self.clock.now + seconds

        def decide() -> None:
            if self.clock.now >= end:
                self.server.decision = "approve"

        self.decide = decide


@pytest.fixture
def device(clock: HandClock, tmp_path: Path) -> Device:
    return Device(clock, tmp_path)


def test_a_device_is_shown_a_code_waits_and_keeps_its_login(device: Device) -> None:
    device.approve_after(12)
    made = device.log_in(AGENT, "agent:demo:read", "agent:demo:claim")
    (codes,) = device.announced
    assert codes.user_code == "BCDFG-HJKLM"
    assert codes.verification_uri_complete == f"{BASE}/device?user_code=BCDFG-HJKLM"
    assert "rstd" not in repr(codes)
    first = device.server.asked[0]
    assert first == {
        "client_id": AGENT,
        "host": "shed",
        "scope": "agent:demo:read agent:demo:claim",
    }
    assert device.clock.slept == [5.0, 5.0, 5.0]
    kept = device.login_of().read()
    assert kept == made.kept
    assert (kept.refresh_token, kept.client_id) == ("rstr_1", AGENT)
    assert kept.expires_at == device.clock.now + 600


def test_the_operator_picks_the_agent_and_a_default_scope_is_not_asked_for(device: Device) -> None:
    device.approve_after(0)
    made = device.log_in("restante-agent")
    assert "scope" not in device.server.asked[0]
    assert made.login.agent_id == AGENT
    assert device.login_of().read() == made.kept
    assert made.kept.client_id == "restante-agent"


def test_slow_down_and_lost_answers_make_it_ask_less_often(device: Device) -> None:
    device.server.break_next = [refusing(400, "slow_down"), refusing(400, "slow_down")]
    device.approve_after(16)
    device.log_in()
    assert device.clock.slept == [5.0, 10.0, 15.0]
    device.clock.slept.clear()
    device.server.decision, device.server.break_next = None, [broken]
    device.server.interval = 5
    device.approve_after(6)
    device.log_in()
    assert device.clock.slept == [5.0, 10.0]


def test_it_waits_as_long_as_a_server_says_that_is_busy(device: Device) -> None:
    wait = {"retry-after": "30"}
    device.server.break_next = [
        refusing(429, "temporarily_unavailable", **wait),
        refusing(503, "temporarily_unavailable"),
    ]
    device.approve_after(1)
    device.server.interval = 1
    device.log_in()
    assert device.clock.slept[:3] == [1.0, 30.0, 1.0]


@pytest.mark.parametrize(
    ("code", "error", "message"),
    [
        ("access_denied", LoginRefused, "an operator has refused"),
        ("expired_token", LoginRefused, "nobody has approved"),
        ("invalid_grant", LoginRefused, "log in again"),
        ("invalid_scope", InvalidScope, "invalid_scope"),
        ("unheard_of", OAuthError, "unheard_of"),
    ],
)
def test_refusals_end_it_and_keep_nothing(
    device: Device, code: str, error: type[RestanteError], message: str
) -> None:
    device.server.decision = code
    with pytest.raises(error, match=message):
        device.log_in()
    assert device.login_of().read() is None
    assert len(device.server.polled_at) == 1


def test_a_server_that_never_decides_is_not_waited_for_after_the_codes_time(device: Device) -> None:
    device.server.break_next = [broken] * 1000
    with pytest.raises(LoginRefused, match="expired_token"):
        device.log_in()
    assert 600 <= sum(device.clock.slept) <= 660


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({"issuer": "http://127.0.0.1:8000"}, "says that it is 'http://127.0.0.1:8000'.*--url"),
        ({"token_endpoint": "https://evil.example/oauth/token"}, "elsewhere"),
        ({"token_endpoint": f"{BASE}.evil.example/x"}, "elsewhere"),
        ({"device_authorization_endpoint": f"{BASE}1/x"}, "elsewhere"),
        ({"token_endpoint": None}, "elsewhere"),
    ],
)
def test_codes_and_tokens_go_to_the_server_itself_only(
    device: Device, told: dict[str, object], message: str
) -> None:
    device.server.metadata = told
    with pytest.raises(UnexpectedAnswer, match=message):
        device.log_in()
    assert not device.server.asked


def test_another_agent_than_the_one_asked_for_is_refused(device: Device) -> None:
    device.server.subject = "agt_0190000000007000800000000000000b"
    device.approve_after(0)
    with pytest.raises(UnexpectedAnswer, match=r"logged in agt_.*b where"):
        device.log_in()


def test_a_new_login_takes_the_place_of_the_one_before_which_is_given_back(device: Device) -> None:
    device.approve_after(0)
    device.log_in()
    device.server.interval = 1
    device.log_in("restante-agent")
    assert device.server.revoked == ["rstr_1"]
    kept = device.login_of().read()
    assert kept
    assert kept.refresh_token == "rstr_2"


def test_logging_out_gives_the_login_back_and_forgets_it(device: Device) -> None:
    device.approve_after(0)
    device.log_in()
    assert device.log_out()
    assert device.server.revoked == ["rstr_1"]
    assert device.login_of().read() is None
    assert not device.log_out()


def test_a_login_that_cannot_be_given_back_stays_unless_it_is_forgotten_here(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.approve_after(0)
    device.log_in()
    monkeypatch.setattr(device.server, "answer", broken)
    with pytest.raises(Unreachable):
        device.log_out()
    assert device.login_of().read()
    assert device.log_out(local=True)
    assert device.login_of().read() is None


def test_what_cannot_be_opened_can_be_forgotten_and_replaced(device: Device) -> None:
    device.approve_after(0)
    device.log_in()
    device.login_of().path.with_name("login.key").unlink()
    with pytest.raises(ConfigurationError, match="is gone"):
        device.log_out()
    device.server.interval = 1
    device.log_in()
    assert device.login_of().read()
    device.login_of().path.with_name("login.key").unlink()
    device.log_out(local=True)
    assert device.login_of().read() is None


def test_a_lock_that_is_never_let_go_is_told(device: Device) -> None:
    device.approve_after(0)
    holder = device.login_of()
    assert holder.try_lock()
    with pytest.raises(LoginBusy, match="another process"):
        device.log_in()
    holder.unlock()
    assert device.login_of().read() is None
