"""`restante-agent login` as its users run it: a real server, an operator at its device page, processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.console.html import Element, parse
from tests.sdk.real_server import COMMAND, PROJECT, Server
from tests.support.processes import Process
from tests.support.waiting import wait_until

CODE = re.compile(r"gives the code (\S+)")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("served"))
    yield made
    made.served.stop()


class Operator:
    """In a browser without scripts, signed in by the link of his invitation."""

    def __init__(self, server: Server, tenant: str, email: str) -> None:
        link = server.command.json(
            "operator", "invite", "--tenant", tenant, "--email", email, "--role", "operator"
        )["url"]
        self.http = httpx2.Client(base_url=server.served.url, follow_redirects=True)
        self.page = parse(self.http.get(link).text)
        action = link.removeprefix(server.served.url)
        self.post(action, csrf=self.page.one("input", name="csrf").attributes["value"])

    def post(self, action: str, **fields: str) -> Element:
        answer = self.http.post(action, data=fields)
        assert answer.status_code == 200, answer.text
        self.page = parse(answer.text)
        return self.page

    def send(self, action: str, **typed: str) -> None:
        self.post(action, **{**self.page.form(action), **typed})

    def decides(self, action: str, code: str, *, agent: str | None = None) -> None:
        self.page = parse(self.http.get("/device", params={"user_code": code}).text)
        self.send("/device")
        if agent is not None:
            self.send("/device", agent=agent)
        same = {"same": "yes"} if action == "/device/approve" else {}
        self.send(action, **same)


@dataclass
class Machine:
    """Where an agent logs in: no secret is set."""

    server: Server
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("RESTANTE_")}
        return {
            **inherited,
            "RESTANTE_STATE_DIR": str(self.folder / "state"),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }

    def start(self, *words: str) -> Process:
        log = self.folder / "login.log"
        log.unlink(missing_ok=True)
        url = self.server.served.url
        return Process([*COMMAND, "login", "--url", url, *words], log=log, env=self.environment)

    def code_of(self, login: Process) -> str:
        found = wait_until(lambda: CODE.search(login.log.read_text()), "the code")
        return found[1]

    def ends(self, login: Process) -> int:
        return int(login.popen.wait(60))

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *words],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
            env=self.environment,
        )

    def json(self, *words: str, code: int = 0) -> Any:
        done = self.run(*words, "--json")
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def machine(server: Server, tmp_path: Path) -> Machine:
    return Machine(server, tmp_path)


def scopes(*verbs: str) -> list[str]:
    return [part for verb in verbs for part in ("--scope", f"agent:{PROJECT}:{verb}")]


def test_an_approved_login_serves_every_command_until_it_is_given_back(
    server: Server, machine: Machine
) -> None:
    agent = server.agent().client_id
    login = machine.start("--agent", agent, *scopes("read", "claim", "publish"))
    Operator(server, server.tenant, "ops@example.com").decides(
        "/device/approve", machine.code_of(login)
    )
    assert machine.ends(login) == 0
    told = login.log.read_text()
    assert f"or opens           {server.served.url}/device?user_code=" in told
    assert f"Logged in as {agent} for agent:{PROJECT}:claim" in told
    path = next((machine.folder / "state").glob("*/login.json"))
    assert f"Kept in {path}, sealed by a key in {path.with_name('login.key')} (" in told
    assert not re.search(r"rst[a-z]?_", path.read_text())  # what is sealed has no "_" by chance
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)

    known = machine.json("whoami")
    assert (known["by"], known["client_id"], known["key_in"]) == ("login", agent, "file")
    made = machine.json("publish", '{"type": "n"}', "--to", agent, "--project", PROJECT)
    assert made["events"][0]["recipient_id"] == agent
    more = machine.run("publish", '{"type": "n"}', "--to", agent, "--project", "other")
    assert more.returncode == 5
    assert "log in again with all it shall have: --scope agent:other:publish" in more.stderr
    before = path.read_bytes()
    assert machine.json("listen", "--until-empty", "--exec", "cat")["acked"] == 1
    assert machine.json("stats")["head"] == 1
    assert path.read_bytes() == before  # one access token serves them all

    assert machine.json("logout") == {
        "url": server.served.url,
        "agent_id": agent,
        "revoked": True,
    }
    assert not path.exists()
    refused = machine.json("stats", code=2)["error"]
    assert "restante-agent login --url" in refused["message"]


def test_the_operator_picks_the_agent_in_a_tenant_that_wants_signatures(
    server: Server, machine: Machine
) -> None:
    strict = server.command.json("tenant", "create", "strict")["tenant_id"]
    server.command.create_project(strict, PROJECT)
    grants = tuple(f"agent:{PROJECT}:{verb}" for verb in ("read", "claim", "publish"))
    agent = server.command.create_agent(strict, "picked", grants=grants)["client_id"]
    login = machine.start("--json", *scopes("read", "claim", "publish"))
    Operator(server, strict, "strict@example.com").decides(
        "/device/approve", machine.code_of(login), agent=agent
    )
    assert machine.ends(login) == 0
    told = json.loads(login.log.read_text().splitlines()[-1])
    assert (told["agent_id"], told["url"]) == (agent, server.served.url)
    assert machine.json("whoami")["client_id"] == agent
    made = machine.json("publish", '{"type": "n"}', "--to", agent, "--project", PROJECT)
    (event,) = machine.json("claim")["events"]
    assert event["event_id"] == made["events"][0]["event_id"]
    assert event["producer"]["signed"] is True


def test_a_refused_login_keeps_nothing_and_says_so(server: Server, machine: Machine) -> None:
    login = machine.start("--agent", server.agent().client_id, "--json")
    Operator(server, server.tenant, "second@example.com").decides(
        "/device/refuse", machine.code_of(login)
    )
    assert machine.ends(login) == 5
    assert "access_denied: an operator has refused this login" in login.log.read_text()
    assert not list((machine.folder / "state").glob("*/login.json"))


def test_an_interrupt_ends_it_in_order(server: Server, machine: Machine) -> None:
    login = machine.start("--agent", server.agent().client_id)
    machine.code_of(login)
    login.signal(signal.SIGINT)
    assert machine.ends(login) == 130
    told = login.log.read_text()
    assert "given up; nothing was kept" in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--agent", "svc_1"), 2, "is no agent"),
        (("--agent", "agt_" + "0" * 32), 5, "invalid_client"),
        (("--scope", "agent:*:read"), 5, "invalid_scope"),
        (("--url", "http://192.0.2.1"), 2, "only by https"),
        (("--url", "http://127.0.0.1:1"), 6, "no answer from"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_before_anybody_is_bothered(
    machine: Machine, words: tuple[str, ...], code: int, message: str
) -> None:
    url = machine.server.served.url
    done = machine.run("login", "--url", url, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
