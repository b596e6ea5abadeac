"""What `doctor` finds in the database, each by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

import doctor
from command_line import MIGRATIONS
from config import Settings
from doctor import Examination
from restante.identity.token_keys import TokenKeys
from restante.storage import incarnation
from restante.storage.engine import make_engine
from restante.storage.finding import Finding
from restante.storage.probe import examine
from tests.factories import make_tenant, pass_time
from tests.support.databases import TestDatabase
from tests.support.ports import free_port
from tests.support.serving import SECRET_KEY


def settings(database: TestDatabase, **given: Any) -> Settings:
    return Settings(**{"database_url": database.url, "secret_key": SECRET_KEY, **given})


def subjects(findings: Iterable[Finding]) -> list[str]:
    return [finding.subject for finding in findings]


def test_a_key_that_our_secret_key_does_not_open(database: TestDatabase) -> None:
    ours = settings(database)
    assert list(doctor.keys(ours, database)) == []  # none yet, and none is made
    assert list(database.run(lambda s: TokenKeys("http://x", (SECRET_KEY,)).verifying(s))) == []
    database.run(TokenKeys("http://x", (SECRET_KEY,)).check)
    assert list(doctor.keys(ours, database)) == []
    other = settings(database, secret_key="another-secret-key-that-is-long-enough")
    (finding,) = doctor.keys(other, database)
    assert finding.level == "refused"
    assert "RESTANTE_SECRET_KEY_PREVIOUS" in finding.sentence
    both = settings(database, secret_key=other.secret_key, secret_key_previous=SECRET_KEY)
    assert list(doctor.keys(both, database)) == []


def test_timers_that_nobody_runs_and_connections(database: TestDatabase) -> None:
    ours = settings(database)
    mail = make_tenant(database).agent()
    mail.publish()
    mail.take_one(lease_seconds=10)
    rights = [] if database.kind == "sqlite" else ["database_user"]  # it is root's
    assert subjects(doctor.burdens(ours, database)) == rights
    pass_time(database, 60)
    assert subjects(doctor.burdens(ours, database)) == ["maintenance", *rights]


@pytest.mark.servers_only
def test_more_connections_than_the_server_gives(database: TestDatabase) -> None:
    greedy = settings(database, database_slots=300)
    assert "max_connections" in subjects(doctor.burdens(greedy, database))


def test_many_agents_on_sqlite(database: TestDatabase) -> None:
    tenant = make_tenant(database)
    for _ in range(51):
        tenant.agent()
    found = subjects(doctor.burdens(settings(database), database))
    assert ("sqlite_size" in found) is (database.kind == "sqlite")


def test_a_clock_that_is_off(database: TestDatabase) -> None:
    assert list(doctor.clocks(database)) == []
    database.clock_offset += timedelta(seconds=30)
    (finding,) = doctor.clocks(database)
    assert finding.subject == "clock"
    assert "NTP" in finding.sentence
    assert "+30 s" in finding.sentence


def test_the_servers_of_this_run_do(database: TestDatabase) -> None:
    assert not [f for f in examine(database.engine).findings if f.level == "refused"]


@pytest.fixture
def examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, migrated_on: Callable[[str], str]
) -> Callable[..., Examination]:
    """Looks at a database, which is migrated unless another is named, with these settings."""

    def look(url: str | None = None, **given: str) -> Examination:
        told = {
            "RESTANTE_DATABASE_URL": url or migrated_on("sqlite"),
            "RESTANTE_SECRET_KEY": SECRET_KEY,
            "RESTANTE_INSTANCE": str(tmp_path / "instance"),
            **given,
        }
        for name, text in told.items():
            monkeypatch.setenv(name, text)
        examination = Examination()
        examination.run(MIGRATIONS, told)
        return examination

    return look


def refused(examination: Examination) -> list[str]:
    assert examination.ok is all(f.level != "refused" for f in examination.findings)
    return [f.subject for f in examination.findings if f.level == "refused"]


def test_a_database_that_is_migrated_will_do(examined: Callable[..., Examination]) -> None:
    assert refused(examined()) == []


def test_settings_and_a_database_that_cannot_be_used(
    examined: Callable[..., Examination], tmp_path: Path
) -> None:
    assert refused(examined(RESTANTE_LEASE_SECONDS="0")) == ["settings"]
    nowhere = {"url": "mysql://nobody@127.0.0.1:1/x", "RESTANTE_LEASE_SECONDS": "60"}
    assert refused(examined(**nowhere)) == ["database"]
    assert refused(examined(f"sqlite:///{tmp_path}/none.db")) == ["database"]


def test_a_schema_that_is_too_old(examined: Callable[..., Examination], tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    engine = make_engine(f"sqlite:///{file}")
    engine.connect().close()
    engine.dispose()
    assert refused(examined(f"sqlite:///{file}")) == ["schema"]


def test_a_file_that_cannot_be_written_ahead(tmp_path: Path) -> None:
    engine = create_engine(f"sqlite:///{tmp_path}/plain.db")
    found = [f.subject for f in examine(engine).findings if f.level == "refused"]
    engine.dispose()
    assert found == ["journal_mode"]


def test_a_database_older_than_it_was(
    examined: Callable[..., Examination], migrated_on: Callable[[str], str], tmp_path: Path
) -> None:
    url = migrated_on("sqlite")
    present = TestDatabase("sqlite", url, make_engine(url)).run(incarnation.current)
    (tmp_path / "instance").mkdir()
    incarnation.note_seen(tmp_path / "instance", url, replace(present, mark=present.mark + 5))
    assert refused(examined(url)) == ["incarnation"]


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("RESTANTE_LEASES", "; did you mean RESTANTE_LEASE_SECONDS?"),
        ("RESTANTE_LEASE_SECOND", "; did you mean RESTANTE_LEASE_SECONDS?"),
        ("RESTANTE_DATABSE_URL", "; did you mean RESTANTE_DATABASE_URL?"),
        ("RESTANTE_XEASE_SECONDS", "; did you mean RESTANTE_LEASE_SECONDS?"),
        ("RESTANTE_QQQ", "."),
    ],
)
def test_a_setting_that_is_none_is_told_with_the_nearest(wrong: str, hint: str) -> None:
    (finding,) = doctor.unknown_settings({wrong: "1", "RESTANTE_LEASE_SECONDS": "1"})
    assert finding.sentence == f"{wrong} is no setting and has no effect{hint}"


def test_a_database_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"mysql://u:hush@127.0.0.1:{free_port()}/mail"
    monkeypatch.setenv("RESTANTE_DATABASE_URL", url)
    monkeypatch.setenv("RESTANTE_SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("RESTANTE_INSTANCE", str(tmp_path))
    found = Examination()
    found.run(MIGRATIONS, {})
    (silent,) = (f.sentence for f in found.findings if f.subject == "database")
    assert silent.startswith(f"The database, {url.replace(':hush', '')}, does not answer: ")
    assert silent.endswith("RESTANTE_DATABASE_URL has its right host, port, user and password.")
    assert "hush" not in silent
