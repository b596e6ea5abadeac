"""Whatever is done to entries past the verbs, the verification of the chain finds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from restante.audit.chain import PLATFORM, entry_hash
from restante.audit.verification import Broken, Progress, begin_chain, verify, verify_on
from restante.identity.projects import create_project
from restante.identity.tenants import create_tenant
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.audit import audit_chain, audit_entry
from tests.engine.test_audit import TENANT, add, rows
from tests.support.databases import TestDatabase


def change_reason(session: Session) -> None:
    _update(session, 3, reason="another")


def change_and_hash_anew(session: Session) -> None:
    row = dict(session.connection().execute(_third()).mappings().one()) | {"reason": "another"}
    _update(session, 3, reason="another", entry_hash=entry_hash(row))


def remove_one(session: Session) -> None:
    session.connection().execute(delete(audit_entry).where(*_is(3)))


def remove_the_last(session: Session) -> None:
    session.connection().execute(delete(audit_entry).where(*_is(5)))


def exchange_two(session: Session) -> None:
    for old, new in ((3, 99), (4, 3), (99, 4)):
        _update(session, old, number=new)


def insert_one(session: Session) -> None:
    row = dict(session.connection().execute(_third()).mappings().one())
    for old in (5, 4):
        _update(session, old, number=old + 1)
    row |= {"number": 4, "entry_id": new_id(), "previous_hash": row["entry_hash"]}
    row["entry_hash"] = entry_hash(row)
    session.connection().execute(audit_entry.insert().values(row))


def add_at_the_end(session: Session) -> None:
    row = dict(session.connection().execute(_third()).mappings().one())
    row |= {"number": 6, "entry_id": new_id()}
    session.connection().execute(audit_entry.insert().values(row | {"entry_hash": entry_hash(row)}))


def add_a_sound_one_at_the_end(session: Session) -> None:
    connection = session.connection()
    row = dict(connection.execute(select(audit_entry).where(*_is(5))).mappings().one())
    row |= {"number": 6, "entry_id": new_id(), "previous_hash": row["entry_hash"]}
    connection.execute(audit_entry.insert().values(row | {"entry_hash": entry_hash(row)}))


def remove_the_end(session: Session) -> None:
    session.connection().execute(delete(audit_chain).where(audit_chain.c.chain_id == TENANT))


def remove_the_beginning(session: Session) -> None:
    session.connection().execute(delete(audit_entry).where(*_is(1)))


def _is(number: int) -> tuple[Any, ...]:
    return audit_entry.c.chain_id == TENANT, audit_entry.c.number == number


def _third() -> Any:
    return select(audit_entry).where(*_is(3))


def _update(session: Session, where: int, **values: Any) -> None:
    session.connection().execute(update(audit_entry).where(*_is(where)).values(**values))


@pytest.mark.parametrize(
    ("spoil", "number", "fault"),
    [
        (change_reason, 3, "changed"),
        (change_and_hash_anew, 4, "does not follow"),
        (remove_one, 3, "missing"),
        (remove_the_last, 5, "missing"),
        (remove_the_beginning, 1, "missing"),
        (exchange_two, 3, "changed"),
        (insert_one, 5, "changed"),
        (add_at_the_end, 6, "does not follow"),
        (add_a_sound_one_at_the_end, 6, "beyond"),
        (remove_the_end, 1, "beyond"),
    ],
)
def test_a_spoilt_chain_is_found(
    database: TestDatabase, spoil: Callable[[Session], None], number: int, fault: str
) -> None:
    add(database, "platform", tenant_id=None)
    add(database, *"abcde")
    assert database.run(verify) is None
    database.run(spoil)
    broken = database.run(verify)
    assert broken is not None
    assert (broken.number, broken.tenant_id) == (number, encode_id(Prefix.TENANT, TENANT))
    assert fault in broken.fault
    assert in_steps(database, 2) == broken


def in_steps(database: TestDatabase, batch: int) -> Broken | None:
    progress = Progress()
    while not progress.finished:
        progress = database.run(lambda s, p=progress: verify_on(s, p, batch=batch))
    return progress.broken


def test_what_is_added_during_a_verification_is_no_fault(database: TestDatabase) -> None:
    add(database, *"abcd")
    progress, steps = Progress(), 0
    while not progress.finished:
        progress = database.run(lambda s, p=progress: verify_on(s, p, batch=2))
        steps += 1
        if steps < 4:
            add(database, f"later {steps}")
    assert progress.broken is None
    assert progress.chains == 1
    assert progress.entries == len(rows(database)) == 7


def test_one_chain_is_verified_by_itself(database: TestDatabase) -> None:
    add(database, *"abc")
    foreign = new_id()
    add(database, *"de", tenant_id=foreign)
    database.run(
        lambda s: s.connection().execute(
            update(audit_entry)
            .where(audit_entry.c.chain_id == foreign, audit_entry.c.number == 1)
            .values(reason="another")
        )
    )
    progress = begin_chain(TENANT)
    while progress.in_chain and not progress.finished:
        progress = database.run(lambda s, p=progress: verify_on(s, p, batch=2))
    assert (progress.entries, progress.broken) == (3, None)
    progress = database.run(lambda s: verify_on(s, begin_chain(foreign)))
    assert progress.broken is not None
    assert progress.broken.number == 1


@pytest.mark.parametrize("whose", ["tenant", "platform"])
def test_a_chain_that_is_gone_as_a_whole_is_missed(database: TestDatabase, whose: str) -> None:
    tenant = database.run(lambda s: create_tenant(s, "acme", require_signatures=False))
    database.run(lambda s: create_tenant(s, "empty", require_signatures=False))
    database.run(lambda s: create_project(s, tenant.id, "main"))
    assert database.run(verify) is None
    chain_id = tenant.id if whose == "tenant" else PLATFORM

    def remove(session: Session) -> None:
        for table in (audit_entry, audit_chain):
            session.connection().execute(delete(table).where(table.c.chain_id == chain_id))

    database.run(remove)
    assert database.run(verify) == Broken(chain_id, 1, "its chain is missing")
