"""The server's keys rotate with overlap, by schedule too; one can be removed at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select

from restante.audit.entries import IN_PROCESS
from restante.errors import NotFound
from restante.identity.key_rotation import (
    KEY_SCHEDULE,
    KeySchedule,
    Rotated,
    remove,
    rotate,
    rotate_due,
)
from restante.identity.sealing import SealBroken
from restante.identity.server_keys import (
    PUBLISHED_BEFORE,
    VERIFIES_AFTER,
    Purpose,
    ServerKeys,
    live_keys,
)
from restante.identity.token_keys import TokenKeys
from restante.identity.tokens import LIFETIME_SECONDS
from restante.storage import incarnation
from restante.storage.clock import database_now
from restante.storage.tables.audit import audit_entry
from restante.storage.tables.identity import token_key
from tests.factories import pass_time
from tests.support.databases import TestDatabase
from workers.key_rotation import KeyRotation
from workers.maintenance import maintenance_services
from workers.pruner import Pruner
from workers.service import Services

SECRETS = ["s" * 20 + "ecret-of-tests-1"]
OTHERS = ["o" * 20 + "ther-of-tests-12"]
SCHEDULE = KeySchedule(SECRETS, timedelta(days=30))
AFTER_PUBLICATION = PUBLISHED_BEFORE.total_seconds() + 1


@pytest.fixture
def keys(database: TestDatabase) -> TokenKeys:
    """Of a process that has made the first key."""
    database.run(incarnation.current)
    made = TokenKeys("https://mail.example", SECRETS)
    database.run(made.check)
    return made


def signer(database: TestDatabase, keys: TokenKeys) -> str:
    return database.run(lambda s: keys.keys.signer(s, database_now(s)))[0]


def verifying(database: TestDatabase, keys: TokenKeys) -> set[str]:
    return set(database.run(keys.verifying))


def rotated(database: TestDatabase) -> Rotated:
    return database.run(lambda s: rotate(s, SECRETS, by=IN_PROCESS))


def removed(database: TestDatabase, kid: str) -> Rotated:
    return database.run(lambda s: remove(s, kid, SECRETS, by=IN_PROCESS))


def audited(database: TestDatabase) -> list[tuple[str, str]]:
    query = select(audit_entry.c.action, audit_entry.c.target).order_by(audit_entry.c.number)
    return [
        (row.action, row.target)
        for row in database.run(lambda s: s.connection().execute(query).all())
    ]


def test_a_key_is_published_before_it_signs_and_verifies_after_it_has(
    database: TestDatabase, keys: TokenKeys
) -> None:
    """JO-104."""
    old = signer(database, keys)
    (new,) = rotated(database).made
    assert signer(database, keys) == old
    assert verifying(database, keys) == {old, new}
    pass_time(database, PUBLISHED_BEFORE.total_seconds() - 1)
    assert signer(database, keys) == old
    pass_time(database, 2)
    assert signer(database, keys) == new
    # what the old one signed a moment ago lives as long as any token
    pass_time(database, LIFETIME_SECONDS)
    assert verifying(database, keys) == {old, new}
    pass_time(database, VERIFIES_AFTER.total_seconds() - LIFETIME_SECONDS)
    assert verifying(database, keys) == {new}
    assert audited(database) == [("keys.rotate", new)]


def test_what_can_verify_nothing_is_deleted(database: TestDatabase, keys: TokenKeys) -> None:
    (new,) = rotated(database).made
    pruner = Pruner(database)
    pass_time(database, AFTER_PUBLICATION)
    assert pruner.run_once()["token_key"] == 0
    pass_time(database, VERIFIES_AFTER.total_seconds())
    assert pruner.run_once()["token_key"] == 1
    pass_time(database, days=400)
    assert pruner.run_once()["token_key"] == 0
    kids = database.run(lambda s: s.connection().execute(select(token_key.c.kid)).scalars().all())
    assert kids == [new]
    assert signer(database, keys) == new


def test_rotations_in_quick_succession_each_have_their_time(
    database: TestDatabase, keys: TokenKeys
) -> None:
    first = signer(database, keys)
    (second,) = rotated(database).made
    pass_time(database, 100)
    (third,) = rotated(database).made
    pass_time(database, AFTER_PUBLICATION - 100)
    assert signer(database, keys) == second  # the third has been published for 231 s
    pass_time(database, 100)
    assert signer(database, keys) == third
    assert verifying(database, keys) == {first, second, third}


def test_another_process_signs_with_the_same_key(database: TestDatabase, keys: TokenKeys) -> None:
    other = TokenKeys("https://mail.example", SECRETS)
    (new,) = rotated(database).made
    assert signer(database, keys) == signer(database, other)
    pass_time(database, AFTER_PUBLICATION)
    assert signer(database, keys) == signer(database, other) == new


def test_a_removed_key_is_gone_and_a_new_one_signs_at_once(
    database: TestDatabase, keys: TokenKeys
) -> None:
    old = signer(database, keys)
    told = removed(database, old)
    (new,) = told.made
    assert [key.kid for key in told.keys] == [new]
    assert signer(database, keys) == new
    assert verifying(database, keys) == {new}
    assert audited(database) == [("keys.remove", old)]


def test_the_successor_of_a_removed_key_signs_where_there_is_one(
    database: TestDatabase, keys: TokenKeys
) -> None:
    old = signer(database, keys)
    (new,) = rotated(database).made
    assert removed(database, old).made == ()
    assert signer(database, keys) == new
    assert verifying(database, keys) == {new}


def test_a_removed_successor_is_replaced_and_its_successor_published_in_time(
    database: TestDatabase, keys: TokenKeys
) -> None:
    old = signer(database, keys)
    (next_one,) = rotated(database).made
    pass_time(database, 200)
    (another,) = removed(database, next_one).made
    assert verifying(database, keys) == {old, another}
    pass_time(database, PUBLISHED_BEFORE.total_seconds() - 1)
    assert signer(database, keys) == old
    pass_time(database, 2)
    assert signer(database, keys) == another


def test_one_that_only_verifies_is_removed_and_nothing_else_happens(
    database: TestDatabase, keys: TokenKeys
) -> None:
    old = signer(database, keys)
    (new,) = rotated(database).made
    pass_time(database, AFTER_PUBLICATION)
    assert removed(database, old).made == ()
    assert verifying(database, keys) == {new}


def test_an_unknown_key_is_refused_with_those_there_are(
    database: TestDatabase, keys: TokenKeys
) -> None:
    with pytest.raises(NotFound, match=signer(database, keys)):
        removed(database, "nobodys")
    assert len(verifying(database, keys)) == 1
    assert audited(database) == []


def test_with_another_secret_key_nothing_is_rotated_and_anything_removed(
    database: TestDatabase, keys: TokenKeys
) -> None:
    """Servers could not open what it made. A key that leaked has to go even so."""
    old = signer(database, keys)
    with pytest.raises(SealBroken):
        database.run(lambda s: rotate(s, OTHERS, by=IN_PROCESS))
    assert verifying(database, keys) == {old}
    (new,) = database.run(lambda s: remove(s, old, OTHERS, by=IN_PROCESS)).made
    assert verifying(database, keys) == {new}


def test_by_schedule_once_however_many_ask(database: TestDatabase, keys: TokenKeys) -> None:
    old = signer(database, keys)
    assert database.run(lambda s: rotate_due(s, SCHEDULE)) == 0
    pass_time(database, days=30)
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda _: database.run(lambda s: rotate_due(s, SCHEDULE)), range(4)))
    assert sorted(made) == [0, 0, 0, 1]
    (new,) = verifying(database, keys) - {old}
    assert audited(database) == [("keys.rotate", new)]
    pass_time(database, days=29)
    assert database.run(lambda s: rotate_due(s, SCHEDULE)) == 0


def test_maintenance_rotates_where_there_is_a_schedule(
    database: TestDatabase, keys: TokenKeys
) -> None:
    database.info[KEY_SCHEDULE] = SCHEDULE
    services = Services([s for s in maintenance_services(database) if isinstance(s, KeyRotation)])
    assert services.run_once() == {"key_rotation": {"made": 0}}
    pass_time(database, days=30)
    assert services.run_once() == {"key_rotation": {"made": 1}}
    assert services.run_once() == {"key_rotation": {"made": 0}}
    database.info.pop(KEY_SCHEDULE)
    pass_time(database, days=100)
    assert services.run_once() == {"key_rotation": {"made": 0}}


def test_keys_of_another_purpose_rotate_too_and_verify_no_token(
    database: TestDatabase, keys: TokenKeys
) -> None:
    webhooks = ServerKeys(SECRETS, Purpose.WEBHOOK)
    hook, _ = database.run(lambda s: webhooks.signer(s, database_now(s)))
    token = signer(database, keys)
    assert hook != token
    assert verifying(database, keys) == {token}
    told = rotated(database)
    made = {key.purpose: key.kid for key in told.keys if key.kid in told.made}
    assert set(made) == {Purpose.TOKEN, Purpose.WEBHOOK}
    assert len(verifying(database, keys)) == 2
    assert removed(database, hook).made == ()
    of_hooks = database.run(lambda s: live_keys(s, database_now(s), [Purpose.WEBHOOK]))
    assert [key.kid for key in of_hooks] == [made[Purpose.WEBHOOK]]


def test_a_private_key_opens_for_its_own_purpose_only(
    database: TestDatabase, keys: TokenKeys
) -> None:
    row = database.run(lambda s: s.connection().execute(select(token_key)).one())
    with pytest.raises(SealBroken):
        ServerKeys(SECRETS, Purpose.WEBHOOK)._sealer.open(row.private_sealed, row.kid)
