"""What the pages for operators have one type is typed: at a database of its own, in a folder of its own."""

from __future__ import annotations

import fcntl
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pymysql
import pytest
from sqlalchemy.engine import make_url

from tests.docs.pages import ROOT, blocks
from tests.support.serving import RestanteCommand, environment
from tests.support.session import known_url

PASSWORD = "the-users-own"


def shown(page: str, heading: str, language: str = "sh") -> list[str]:
    """The page's blocks under a heading."""
    found = [
        block.text
        for block in blocks(ROOT / "docs" / f"{page}.md")
        if (block.heading, block.language) == (heading, language)
    ]
    assert found, (page, heading)
    return found


def typed(text: str, folder: Path, env: Mapping[str, str]) -> str:
    """What the commands print; they have to succeed."""
    path = f"{Path(sys.executable).parent}:{env['PATH']}"
    done = subprocess.run(
        ["sh", "-eu", "-c", text],
        cwd=folder,
        env={**env, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def installation(tmp_path: Path) -> dict[str, str]:
    """The environment of one on SQLite, `instance/` in the folder, with its tables."""
    instance = tmp_path / "instance"
    instance.mkdir()
    env = environment(f"sqlite:///{instance / 'restante.db'}", {"RESTANTE_INSTANCE": str(instance)})
    RestanteCommand(env["RESTANTE_DATABASE_URL"], settings=env).upgrade()
    return env


def tenants(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM tenant")]


@pytest.mark.timeout(300)
def test_upgrade_backup_and_restore(installation: dict[str, str], tmp_path: Path) -> None:
    RestanteCommand(installation["RESTANTE_DATABASE_URL"], settings=installation).create_tenant(
        "acme"
    )
    upgrade, back_up, restore = (
        shown("upgrades", heading)[0] for heading in ("Upgrade", "Back up", "Restore")
    )
    installation["HOME"] = str(tmp_path)
    typed(f"{upgrade}\n{back_up}", tmp_path, installation)
    (kept,) = (tmp_path / "restante-backups").iterdir()
    assert [path.stat().st_mode & 0o077 for path in (kept.parent, kept)] == [0, 0]
    database = tmp_path / "instance" / "restante.db"
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE tenant SET name = 'later'")
    assert tenants(kept) == ["acme"]
    restoring = f"KEPT={kept}\n{restore}"
    with (database.parent / "restante.db.serve-lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # as `serve` does
        with pytest.raises(AssertionError):
            typed(restoring, tmp_path, installation)
        assert tenants(database) == ["later"]
    typed(restoring, tmp_path, installation)
    assert tenants(database) == ["acme"]


@pytest.mark.timeout(300)
def test_the_first_tenant_of_an_installation(installation: dict[str, str], tmp_path: Path) -> None:
    (begun,) = shown("deploy", "The first tenant")
    assert begun.count("/opt/restante/bin/") == len(begun.splitlines())
    said = typed(begun.replace("/opt/restante/bin/", ""), tmp_path, installation)
    assert "/sign-in/" in said
    assert "rst_" in said


@pytest.mark.timeout(300)
def test_settings_and_tenants(installation: dict[str, str], tmp_path: Path) -> None:
    installation["RESTANTE_EGRESS_ALLOW"] = "localhost:8443"  # tests look up no name of the world
    command = RestanteCommand(installation["RESTANTE_DATABASE_URL"], settings=installation)
    command.create_tenant("acme")
    (check,) = shown("settings", "Calls to the outside")
    check = check.replace("hooks.example.com", "localhost:8443")
    (service,) = shown("tenants", "By a service")
    said = typed(f"{check}\n{service}", tmp_path, installation)
    assert "svc_" in said
    assert "rst_" in said


@pytest.fixture
def root(backend: str, worker_name: str) -> Iterator[tuple[Any, str]]:
    """A cursor of the server's administrator, and the name that the page's `restante` has there."""
    url, name = make_url(known_url(backend) or ""), f"page_{worker_name}"
    with pymysql.connect(
        host=url.host, port=url.port or 3306, user=url.username or "root", autocommit=True
    ) as connection:
        cursor = connection.cursor()
        remove(cursor, name)
        yield cursor, name
        remove(cursor, name)


def remove(cursor: Any, name: str) -> None:
    cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
    cursor.execute(f"DROP USER IF EXISTS `{name}`")


@pytest.mark.one_server("mysql")
@pytest.mark.timeout(300)
def test_a_database_is_made_and_moved_to(
    backend: str, root: tuple[Any, str], installation: dict[str, str], tmp_path: Path
) -> None:
    cursor, name = root
    (made,) = shown("databases", "Databases", "sql")
    for statement in made.replace("restante", name).replace("…", PASSWORD).split(";"):
        if statement.strip():
            cursor.execute(statement)
    server = make_url(known_url(backend) or "")
    url = f"mysql://{name}:{PASSWORD}@{server.host}:{server.port}/{name}"
    RestanteCommand(installation["RESTANTE_DATABASE_URL"], settings=installation).create_tenant(
        "acme"
    )
    (moved,) = shown("databases", "From one database to another")
    assert moved.count("mysql://…") == 2
    typed(moved.replace("mysql://…", url), tmp_path, installation)
    cursor.execute(f"SELECT name FROM `{name}`.tenant")
    assert cursor.fetchall() == (("acme",),)
    shutil.rmtree(tmp_path / "instance")
