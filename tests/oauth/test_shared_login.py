"""Processes of an agent that share one kept login, against the real endpoints; both clocks are moved."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import func, select
from werkzeug.serving import make_server

from restante.identity.recent import STATE_SECONDS
from restante.storage.tables.logins import refresh_token
from restante_agent.login.kept import KeptLogin
from restante_agent.wire.login import Kept
from tests.oauth.conftest import public_id
from tests.oauth.logging_in import Login
from tests.support.processes import die_with_parent

KEY = {"RESTANTE_AGENT_KEY": "k" * 40}
HOUR_SECONDS, STEP_SECONDS = 3600, 60


@dataclass
class Shared:
    """The login, where it is kept, and the processes that use it."""

    login: Login
    url: str
    folder: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    now: float = 1_900_000_000.0

    @property
    def kept(self) -> KeptLogin:
        return KeptLogin(self.url, public_id(self.login.bob), base=self.folder, environ=KEY)

    def tokens(self) -> Kept:
        found = self.kept.read()
        assert found
        return found

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.login.pass_time(seconds)
        self.login.server.pass_time(seconds)

    def start(self, how: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.oauth.login_process",
                self.url,
                public_id(self.login.bob),
                str(self.folder),
                how,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **KEY},
            preexec_fn=die_with_parent(),
        )
        self.processes.append(process)
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        return process

    def ask(self, *asked: subprocess.Popen[str]) -> list[str]:
        """What the processes answer that are all told the time at one instant."""
        for process in asked:
            assert process.stdin
            process.stdin.write(f"{self.now}\n")
            process.stdin.flush()
        return [process.stdout.readline().strip() for process in asked if process.stdout]

    def spent(self) -> int:
        query = select(func.count()).where(refresh_token.c.spent_at.is_not(None))
        return int(self.login.run(lambda s: s.connection().execute(query).scalar_one()))


@contextmanager
def served(login: Login) -> Iterator[str]:
    http = make_server("127.0.0.1", 0, login.server.app, threaded=True)
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        thread.join()
        http.server_close()


@pytest.fixture
def shared(login: Login, tmp_path: Path) -> Iterator[Shared]:
    with ExitStack() as stack:
        url = stack.enter_context(served(login))
        one = Shared(login, url, tmp_path)
        kept = one.kept
        assert kept.try_lock()
        kept.begin(Kept(login.log_in().refresh_token, public_id(login.bob)))
        kept.unlock()
        yield one
        for process in one.processes:
            process.kill()
            process.communicate()


@pytest.mark.parametrize("how", ["share", "fresh"])
def test_processes_that_refresh_at_one_instant_for_an_hour_keep_their_session(
    shared: Shared, how: str
) -> None:
    first = shared.tokens()
    both = shared.start(how), shared.start(how)
    for _ in range(HOUR_SECONDS // STEP_SECONDS + 1):
        assert shared.ask(*both) == ["200", "200"]
        shared.pass_time(STEP_SECONDS)
    assert shared.login.audited("refresh.reuse") == 0
    assert shared.tokens().refresh_token != first.refresh_token
    if how == "share":
        # one of them refreshes for both, a minute before each token's end
        assert shared.spent() == 1 + HOUR_SECONDS // 540
    else:
        assert shared.spent() == 2 * (HOUR_SECONDS // STEP_SECONDS + 1)


def test_a_stolen_token_used_outside_the_grace_ends_the_session_at_once(shared: Shared) -> None:
    process = shared.start("share")
    stolen = shared.tokens().refresh_token
    assert shared.ask(process) == ["200"]
    shared.pass_time(11)
    assert shared.ask(process) == ["200"]
    assert shared.login.refresh(stolen) is None
    assert shared.login.audited("refresh.reuse") == 1
    shared.login.server.pass_time(STATE_SECONDS)
    (answer,) = shared.ask(process)
    assert answer.startswith("LoginEnded: invalid_grant: the login of ")
    assert "log in again: restante-agent login --url" in answer
    assert shared.kept.read() is None


@pytest.mark.parametrize(
    ("away_seconds", "answers"), [(5, ["200", "200"]), (11, ["LoginEnded", "LoginEnded"])]
)
def test_a_process_killed_between_answer_and_store(
    shared: Shared, away_seconds: int, answers: list[str]
) -> None:
    """What it had spent is answered once more to the others, for as long as the server's grace."""
    killed, *both = (shared.start(how) for how in ("killed", "share", "share"))
    assert shared.ask(killed) == [""]
    assert killed.wait(30) == -9
    assert shared.spent() == 1
    shared.pass_time(away_seconds)
    assert [answer.partition(":")[0] for answer in shared.ask(*both)] == answers
    shared.pass_time(600)
    assert [answer.partition(":")[0] for answer in shared.ask(*both)] == answers


def test_a_new_login_is_taken_up_by_processes_whose_login_ended(shared: Shared) -> None:
    process = shared.start("share")
    assert shared.ask(process) == ["200"]
    shared.login.refresh(shared.tokens().refresh_token, client="restante-agent")
    shared.login.server.pass_time(STATE_SECONDS)
    assert shared.ask(process)[0].startswith("LoginEnded")
    shared.kept.begin(Kept(shared.login.log_in().refresh_token, public_id(shared.login.bob)))
    assert shared.ask(process) == ["200"]
