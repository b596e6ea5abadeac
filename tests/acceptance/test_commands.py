"""The `restante` command as a person or a script runs it."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from restante.identity.credentials import authenticate_client
from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.serving import RESTANTE, RestanteCommand, Served, environment
from tests.support.waiting import wait_until

INVITE = (
    "operator",
    "invite",
    "--tenant",
    "acme",
    "--email",
    "ops@example.com",
    "--role",
    "operator",
)


@pytest.fixture
def command(
    migrated_database_url: str,
    restante_command: Callable[[str], RestanteCommand],
    tmp_path: Path,
) -> RestanteCommand:
    made = restante_command(migrated_database_url)
    made.environment["RESTANTE_INSTANCE"] = str(tmp_path / "instance")
    return made


@pytest.fixture
def here(tmp_path: Path) -> RestanteCommand:
    """On the embedded default: for what does not depend on the database."""
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    return RestanteCommand(f"sqlite:///{tmp_path / 'mail.db'}", settings=settings)


def test_from_nothing_to_an_agent_that_can_log_in(
    command: RestanteCommand, migrated_database_url: str
) -> None:
    command.upgrade()
    tenant_id = command.create_tenant("acme")
    assert tenant_id.startswith("ten_")
    assert command.create_project("acme", "p1").startswith("prj_")
    agent = command.create_agent(tenant_id, "bob", grants=("agent:*:read", "agent:p1:claim"))
    assert agent.keys() == {"agent_id", "client_id", "client_secret"}
    assert agent["agent_id"] == agent["client_id"]
    service = command.create_service("acme", "ci", scopes=("tenant:events:publish",))
    assert service.keys() == {"service_id", "client_id", "client_secret"}
    assert service["service_id"].startswith("svc_")
    engine = make_engine(migrated_database_url)
    for made in (agent, service):
        credentials = made["client_id"], made["client_secret"]
        client = Database(engine).run(lambda s, c=credentials: authenticate_client(s, *c))
        assert client is not None
    engine.dispose()


def test_a_refusal_is_a_sentence_on_stderr_and_changes_nothing(here: RestanteCommand) -> None:
    done = here.run("tenant", "create", "acme", "--json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "restante db upgrade" in done.stderr
    assert "Traceback" not in done.stderr
    here.upgrade()
    here.create_tenant("acme")
    for words, expected in (
        (("tenant", "create", "acme"), "already"),
        (("project", "create", "--tenant", "nobody", "p"), "no tenant"),
        (("project", "create", "--tenant", "acme", "not a slug"), "slug"),
        (
            ("agent", "create", "--tenant", "acme", "--name", "a", "--grant", "agent:zz:read"),
            "no project 'zz'",
        ),
        (
            ("service", "create", "--tenant", "acme", "--name", "s", "--scope", "agent:x"),
            "is no scope",
        ),
    ):
        done = here.run(*words, "--json")
        assert (done.returncode, done.stdout) == (1, ""), words
        assert expected in done.stderr
        assert "Traceback" not in done.stderr


def test_the_human_form_shows_the_secret_once(here: RestanteCommand) -> None:
    here.upgrade()
    here.create_tenant("acme")
    told = here.run("agent", "create", "--tenant", "acme", "--name", "bob")
    assert "client_secret: rst_" in told.stdout
    assert "no grants" in told.stderr


def test_maintenance_once(command: RestanteCommand) -> None:
    command.upgrade()
    did = command.json("maintain", "--once")
    assert {"timers", "retention"} <= did.keys()


def test_doctor_has_nothing_to_mend_and_says_what_stops_a_start(here: RestanteCommand) -> None:
    done = here.run("doctor", "--json")
    assert done.returncode == 1
    assert "restante db upgrade" in done.stdout
    here.upgrade()
    told = here.json("doctor")
    assert told["ok"] is True
    assert not [f for f in told["findings"] if f["level"] == "refused"]
    here.environment["RESTANTE_LEASE_SECOND"] = "1"
    warned = here.json("doctor")["findings"]
    assert any("RESTANTE_LEASE_SECONDS" in finding["sentence"] for finding in warned)
    here.environment["RESTANTE_LEASE_SECONDS"] = "-1"
    assert here.run("doctor", "--json").returncode == 1


@pytest.mark.parametrize(
    ("settings", "words", "expected"),
    [
        ({}, (), "restante db upgrade"),
        ({"RESTANTE_MAX_ATTEMPTS": "0"}, (), "RESTANTE_MAX_ATTEMPTS"),
        ({"RESTANTE_PUBLIC_URL": "http://mail.example"}, (), "RESTANTE_PUBLIC_URL"),
        ({}, ("--host", "0.0.0.0"), "RESTANTE_PUBLIC_URL"),
    ],
)
def test_serve_refuses_before_it_listens(
    here: RestanteCommand,
    settings: dict[str, str],
    words: tuple[str, ...],
    expected: str,
) -> None:
    here.environment |= settings
    done = here.run("serve", "--port", "1", *words)
    assert done.returncode == 1
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_commands_work_beside_a_running_serve(
    command: RestanteCommand,
    migrated_database_url: str,
    serve: Callable[..., Served],
    tmp_path: Path,
) -> None:
    command.upgrade()
    served = serve(
        migrated_database_url, settings={"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    )
    command.create_tenant("acme")
    command.create_project("acme", "p1")
    agent = command.create_agent("acme", "bob", grants=("agent:p1:read",))
    assert agent["client_secret"]
    assert command.json("maintain", "--once")
    told = command.run("doctor", "--url", served.url, "--json")
    assert told.returncode == 0, told.stdout + told.stderr
    subjects = {finding["subject"] for finding in json.loads(told.stdout)["findings"]}
    assert not {"url", "authorization", "methods", "public_url", "body_size"} & subjects
    if make_url(migrated_database_url).get_backend_name() == "sqlite":
        second = command.run("serve", "--port", "1")
        assert second.returncode == 1
        assert str(served.process.pid) in second.stderr
        assert command.run("serve", "--workers", "2").returncode == 1
        restored = command.run("db", "restored")
        assert restored.returncode == 1
        assert str(served.process.pid) in restored.stderr


@pytest.mark.timeout(300)
def test_a_restored_backup_is_not_served_until_told_so(
    tmp_path: Path, serve: Callable[..., Served]
) -> None:
    """On SQLite, where a backup is a file; the marks are the same everywhere."""
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    command = RestanteCommand(url, settings=settings)
    command.upgrade()
    command.create_tenant("acme")
    command.create_agent("acme", "bob")
    database, copy = tmp_path / "mail.db", tmp_path / "b"
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as backup:
        source.backup(backup)
    serve(url, settings=settings).kill()
    for file in tmp_path.glob("mail.db*"):
        file.unlink()
    shutil.copy(copy, database)
    refused = command.run("serve", "--port", "1")
    assert refused.returncode == 1
    assert "restante db restored" in refused.stderr
    assert command.run("doctor").returncode == 1
    command.json(*INVITE)
    restored = command.json("db", "restored")
    assert (restored["inboxes"], restored["logins"], restored["sessions"]) == (1, 0, 0)
    with closing(sqlite3.connect(database)) as connection:
        good = "SELECT COUNT(*) FROM sign_in_link WHERE spent_at IS NULL"
        assert connection.execute(good).fetchone() == (0,), "it may have been used in the lost time"
    serve(url, settings=settings)


def test_the_demo_leaves_an_event_for_an_agent_that_is_away(tmp_path: Path) -> None:
    """What `make serve` starts."""
    folder = tmp_path / "instance"
    port = free_port()
    process = Process(
        [RESTANTE, "serve", "--demo", "--port", str(port), "--json"],
        log=tmp_path / "log",
        env=environment("", {"RESTANTE_INSTANCE": str(folder), "RESTANTE_SECRET_KEY": ""}),
    )
    wait_until(lambda: '"url"' in process.tail(), "what to open", timeout_seconds=60)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live", timeout=20) as answer:
        assert answer.status == 200, "it is said once it answers"
    here = f"sqlite:///{folder / 'restante.db'}"
    with closing(sqlite3.connect(folder / "restante.db")) as open_beside:
        # its log is there while anyone has it open
        open_beside.execute("SELECT COUNT(*) FROM tenant").fetchone()
        modes = {file.name: file.stat().st_mode & 0o777 for file in folder.glob("restante.db*")}
    assert set(modes) >= {"restante.db", "restante.db-wal", "restante.db-shm"}
    assert set(modes.values()) == {0o600}
    process.kill_group()
    assert process.tail().count('"url"') == 1
    assert f"database url={here} " in process.tail()
    told = json.loads(next(line for line in process.tail().splitlines() if line.startswith("{")))
    assert (told["url"], told["database_url"]) == (f"http://127.0.0.1:{port}", here)
    assert told["demo"]["sign_in"].startswith(f"{told['url']}/sign-in/rstl_")
    for name in ("agent", "producer"):
        file = Path(told["demo"][name])
        assert file.stat().st_mode & 0o777 == 0o600
        assert "RESTANTE_CLIENT_SECRET=rst_" in file.read_text()
    with closing(sqlite3.connect(folder / "restante.db")) as connection:
        (mail,) = connection.execute("SELECT COUNT(*) FROM agent_inbox").fetchone()
        (unsigned,) = connection.execute("SELECT require_signatures FROM tenant").fetchone()
    assert (mail, unsigned) == (1, 0)


def test_a_port_that_is_taken_is_said_and_nothing_else(tmp_path: Path) -> None:
    """The demo's files would lead its agent to whoever serves there."""
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance"), "RESTANTE_SECRET_KEY": ""}
    here = RestanteCommand("", settings=settings)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = here.run("serve", "--demo", "--port", str(port))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"port {port}" in done.stderr
    assert "--port" in done.stderr
    assert not list(tmp_path.glob("instance/demo-*"))


def test_the_audit_is_verified(here: RestanteCommand, tmp_path: Path) -> None:
    here.upgrade()
    here.create_tenant("acme")
    here.create_project("acme", "p1")
    here.create_project("acme", "p2")
    assert here.json("audit", "verify") == {"ok": True, "chains": 2, "entries": 3}
    with sqlite3.connect(tmp_path / "mail.db") as connection:
        connection.execute("UPDATE audit_entry SET reason = 'p3' WHERE reason = 'p2'")
    done = here.run("audit", "verify", "--json")
    assert done.returncode == 1
    broken = json.loads(done.stdout)["broken"]
    assert (broken["number"], broken["fault"]) == (2, "it was changed")
    assert broken["entry_id"].startswith("aud_")
    assert "Entry 2 of ten_" in here.run("audit", "verify").stdout


def test_a_server_that_cannot_listen_says_nothing_of_what_it_serves(here: RestanteCommand) -> None:
    here.upgrade()
    here.environment["RESTANTE_PUBLIC_URL"] = "https://mail.example"
    done = here.run("serve", "--host", "192.0.2.1")  # RFC 5737: nobody's
    assert (done.returncode, done.stdout) == (1, "")
    assert "192.0.2.1" in done.stderr


def test_commands_name_the_database_and_say_where_it_is_the_default(tmp_path: Path) -> None:
    folder = tmp_path / "instance"
    there = f"sqlite:///{folder / 'restante.db'}"
    here = RestanteCommand("", settings={"RESTANTE_INSTANCE": str(folder)})
    for made in (", which is made now.", "."):
        done = here.run("db", "upgrade", "--json")
        assert json.loads(done.stdout)["database"] == there
        assert (
            f"RESTANTE_DATABASE_URL names no other, so the database is {there}{made}"
            in done.stderr.splitlines()
        )
    assert f", in {there}." in here.run("db", "upgrade").stdout
    assert here.run("db", "restored").stdout.startswith(f"In {there} 0 inboxes")
    assert here.run("doctor").stdout.startswith("Database: SQLite")
    assert here.json("doctor")["database"] == there
