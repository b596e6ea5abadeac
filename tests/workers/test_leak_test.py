"""`restante leak-test`: a whole build passes, one with a guard taken away is caught (contract section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, delete, text

from restante.identity.tenants import create_tenant
from restante.inbox import ending, lifecycle, quarantine, retention
from restante.inbox.lifecycle import Gate
from restante.storage import schema
from restante.storage.engine import make_engine
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.identity import tenant
from restante.storage.transaction import Database
from tests.engine.mutants import in_place_of
from tests.support.databases import create_empty
from workers.leak_test import run as leak_run
from workers.leak_test.check import Leak
from workers.leak_test.deletions import Deletions
from workers.leak_test.ground import NotDisposable, prepare
from workers.leak_test.run import STEPS

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"


@pytest.fixture
def engine(empty_database_url: str) -> Iterator[Engine]:
    made = make_engine(empty_database_url, busy_seconds=5)
    yield made
    made.dispose()


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Engine]:
    """For builds whose Python is broken."""
    made = make_engine(create_empty("sqlite", "disposable", tmp_path))
    schema.upgrade(made, MIGRATIONS)
    yield made
    made.dispose()


def leaks(engine: Engine) -> dict[str, str]:
    """What is caught, without the processes, which are tried by the command itself."""
    ground = prepare(engine, MIGRATIONS, seed=1)
    deletions = Deletions(engine)
    checks = [leak_run._try(name, step, ground) for name, step in STEPS.items()]
    found = {check.name: check.detail for check in checks if not check.ok}
    try:
        leak_run._deletions(deletions)
    except Leak as leak:
        found["no_quarantined_row_deleted"] = str(leak)
    return found


def test_a_whole_build_leaks_nothing_and_may_be_tried_again(engine: Engine) -> None:
    assert leaks(engine) == {}
    assert leaks(engine) == {}


def _no_fence(*_: Any) -> None:
    return None


def _never_enough(real: Callable[..., Any]) -> Callable[..., Any]:
    """A failed event is always given another attempt."""

    def fail(session: Any, row: Any, *rest: Any, **named: Any) -> Any:
        values = row._asdict() | {"attempts": 0}
        return real(session, type("Row", (), values)(), *rest, **named)

    return fail


def _forgetful(real: Callable[..., Any]) -> Callable[..., Any]:
    """A redrive that makes it a new event for whoever held it."""

    def redrive(session: Any, tenant_id: bytes, event_id: bytes, **named: Any) -> None:
        real(session, tenant_id, event_id, **named)
        row = agent_inbox.c.event_id == event_id
        session.connection().execute(agent_inbox.update().where(row).values(claim_generation=0))

    return redrive


def _greedy(real: Callable[..., Any]) -> Callable[..., Any]:
    """Retention that takes what is in quarantine along."""

    def archive(session: Any, recipient_id: bytes) -> int:
        mine = agent_inbox.c.recipient_id == recipient_id
        rubbish = agent_inbox.c.gate == Gate.QUARANTINED.value
        session.connection().execute(delete(agent_inbox).where(mine, rubbish))
        moved: int = real(session, recipient_id)
        return moved

    return archive


@pytest.mark.parametrize(
    ("function", "broken", "caught"),
    [
        (lifecycle.fence, lambda _: _no_fence, {"stale_claims", "replay"}),
        (ending.fail, _never_enough, {"poison_threshold", "replay", "quarantine_is_kept"}),
        (quarantine.redrive, _forgetful, {"replay"}),
        (retention.archive, _greedy, {"quarantine_is_kept", "no_quarantined_row_deleted"}),
    ],
    ids=["without the fence", "without a threshold", "redrive starts anew", "greedy retention"],
)
def test_a_broken_build_is_caught(
    embedded: Engine, function: Any, broken: Any, caught: set[str]
) -> None:
    with in_place_of(function, broken(function)):
        found = leaks(embedded)
    assert caught <= found.keys(), found


SPOILT = {
    "claim_index": "DROP INDEX claim ON agent_inbox",
    "unique_idempotency": "ALTER TABLE publication_key DROP PRIMARY KEY",
    "checked_rows": "ALTER TABLE agent_inbox DROP CONSTRAINT ck_agent_inbox_final_has_instant",
}


@pytest.mark.servers_only
def test_a_spoilt_schema_is_caught(engine: Engine) -> None:
    schema.upgrade(engine, MIGRATIONS)
    assert not leaks(engine).keys() & SPOILT.keys()
    with engine.begin() as connection:
        for statement in SPOILT.values():
            connection.execute(text(statement))
    assert leaks(engine).keys() >= SPOILT.keys()


def test_somebodys_database_is_refused_and_left_alone(engine: Engine) -> None:
    schema.upgrade(engine, MIGRATIONS)
    house = Database(engine)
    house.run(lambda session: create_tenant(session, "acme", require_signatures=False))
    with pytest.raises(NotDisposable, match="acme"):
        prepare(engine, MIGRATIONS, seed=1)
    count = text("SELECT COUNT(*) FROM tenant")
    assert house.run(lambda session: session.connection().execute(count).scalar()) == 1
    house.run(lambda session: session.connection().execute(delete(tenant)))


def test_tables_of_something_else_are_refused(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE invoices (id INTEGER)"))
    with pytest.raises(NotDisposable, match="invoices"):
        prepare(engine, MIGRATIONS, seed=1)
    assert schema.revision(engine) is None
