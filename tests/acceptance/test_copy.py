"""`restante db copy`: from the embedded default to a server, as its users do it (contract section 8)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import insert

from restante.storage.clock import database_now
from restante.storage.engine import make_engine
from restante.storage.ids import new_id
from restante.storage.tables.signals import node
from restante.storage.transaction import Database
from tests.acceptance.stage import Stage, call, token_of
from tests.support.serving import RestanteCommand, Served


@pytest.mark.timeout(300)
def test_agents_go_on_with_their_cursors_on_the_new_server(
    empty_database_url: str, serve: Callable[..., Served], tmp_path: Path
) -> None:
    old_url = f"sqlite:///{tmp_path / 'mail.db'}"
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    old, new = (RestanteCommand(url, settings=settings) for url in (old_url, empty_database_url))
    old.upgrade()
    engine = make_engine(old_url, busy_seconds=5)
    stage = Stage(Database(engine), None)  # type: ignore[arg-type]  # set next: SQLite has one writer
    engine.dispose()
    stage.served = served = serve(old_url, settings=settings)
    for number in range(4):
        stage.publish(payload={"n": number}, ordering_key=None if number else "k")
    page = call(stage.address("inbox?after_cursor=0&limit=2"), stage.token(stage.agent))[1]
    (held,) = stage.claim(limit=1, lease_seconds=3_000)

    new.upgrade()
    beside = old.run("db", "copy", "--to", empty_database_url, "--json")
    assert (beside.returncode, beside.stdout) == (1, "")
    assert str(served.process.pid) in beside.stderr
    served.stop()
    told = old.json("db", "copy", "--to", empty_database_url)
    assert told["tables"]["agent_inbox"] == 4
    assert told["left_out"].keys() == {"node", "open_stream", "wake"}
    assert told["rows"] == sum(told["tables"].values())
    assert new.json("audit", "verify")["ok"] is True
    again = old.run("db", "copy", "--to", empty_database_url, "--json")
    assert (again.returncode, again.stdout) == (1, "")
    assert "holds rows already" in again.stderr

    stage.served = serve(empty_database_url, settings=settings)
    token = token_of(stage.served.url, stage.agent)
    cursor = f"after_cursor={page['next_cursor']}&epoch={page['epoch']}"
    status, rest = call(stage.address(f"inbox?{cursor}"), token)
    assert status == 200
    assert [e["sequence_number"] for e in rest["events"]] == [3, 4]
    order = {"claim_generation": held["claim_generation"], "result": {"ok": True}}
    status, done = call(stage.address(f"inbox/{held['event_id']}/ack"), token, order)
    assert (status, done["status"]) == (200, "completed")
    stage.tokens.clear()
    assert stage.publish()["sequence_number"] == 5


def test_what_is_served_or_the_same_is_refused(tmp_path: Path) -> None:
    urls = [f"sqlite:///{tmp_path / name}" for name in ("a.db", "b.db")]
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    old, new = (RestanteCommand(url, settings=settings) for url in urls)
    old.upgrade()
    new.upgrade()
    engine = make_engine(urls[0])
    Database(engine).run(
        lambda s: s.connection().execute(
            insert(node).values(node_id=new_id(), seen_at=database_now(s))
        )
    )
    engine.dispose()
    for command, target, expected in (
        (old, urls[1], "served by 1 process"),
        (new, urls[0], "served by 1 process"),
        (new, urls[1], "are the same"),
        (new, "postgresql://x/y", "--to names a database that is not supported"),
        (new, f"sqlite:///{tmp_path / 'c.db'}", "restante db upgrade"),
    ):
        done = command.run("db", "copy", "--to", target, "--json")
        assert (done.returncode, done.stdout) == (1, ""), target
        assert expected in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    third = RestanteCommand(f"sqlite:///{tmp_path / 'c.db'}", settings=settings)
    third.upgrade()
    told = json.loads(new.text("db", "copy", "--to", f"sqlite:///{tmp_path / 'c.db'}", "--json"))
    assert told["tables"]["tenant"] == 0


@pytest.mark.servers_only
def test_from_a_server_into_a_file(empty_database_url: str, tmp_path: Path) -> None:
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    file = f"sqlite:///{tmp_path / 'new.db'}"
    old, new = (RestanteCommand(url, settings=settings) for url in (empty_database_url, file))
    old.upgrade()
    new.upgrade()
    old.create_tenant("acme")
    old.create_project("acme", "p")
    old.create_agent("acme", "bob", grants=("agent:p:read",))
    told = old.json("db", "copy", "--to", file)
    assert {told["tables"][name] for name in ("tenant", "project", "inbox")} == {1}
    assert told["audit"]["entries"] == told["tables"]["audit_entry"] > 3
    # and what was copied is an entry of its own
    verified = new.json("audit", "verify")
    assert verified == {"ok": True, "chains": 2, "entries": told["audit"]["entries"] + 1}


def test_nothing_works_on_half_a_copy(tmp_path: Path) -> None:
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    command = RestanteCommand(f"sqlite:///{tmp_path / 'mail.db'}", settings=settings)
    command.upgrade()
    with sqlite3.connect(tmp_path / "mail.db") as connection:
        connection.execute("UPDATE incarnation SET incarnation_id = 'copying:x'")
    connection.close()
    for words in (
        ("serve", "--port", "1"),
        ("maintain", "--once"),
        ("tenant", "create", "acme"),
        ("db", "restored"),
        ("db", "upgrade"),
    ):
        done = command.run(*words)
        assert done.returncode == 1, words
        assert "half a copy" in done.stderr
        assert "Traceback" not in done.stderr
    assert "half a copy" in command.run("doctor").stdout
