"""What identity keeps for a while is deleted once nobody can need it, and not before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Table, func, insert, select

from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables import metadata
from restante.storage.tables.identity import credential
from restante.storage.tables.logins import refresh_family
from tests.factories import pass_time
from tests.support.databases import TestDatabase
from workers.pruner import KEPT, Pruner

ROWS: dict[str, dict[str, Any]] = {
    "refresh_token": {"token_hash": bytes(32), "family_id": bytes(16)},
    "device_authorization": {
        "device_code_hash": bytes(32),
        "user_code_hash": bytes(32),
        "client": "restante-agent",
        "interval_seconds": 5,
    },
    "used_assertion": {"principal_id": bytes(16), "jti_hash": bytes(32)},
    "revoked_token": {"principal_id": bytes(16), "token_id": "j"},
    "signature_nonce": {"key_id": bytes(16), "nonce_hash": bytes(32)},
    "sign_in_link": {"link_hash": bytes(32), "purpose": "invite", "operator_id": bytes(16)},
    "form_draft": {
        "draft_id": bytes(16),
        "session_id": bytes(16),
        "action": "/scopes/apply",
        "fields": b"[]",
    },
    "oidc_transaction": {
        "state_hash": bytes(32),
        "browser_hash": bytes(32),
        "nonce_hash": bytes(32),
        "verifier_sealed": b"v",
        "return_path": "/",
    },
    "operator_session": {
        "session_id": bytes(16),
        "token_hash": bytes(32),
        "operator_id": bytes(16),
        "method": "link",
    },
}


def count(database: TestDatabase, table: Table) -> int:
    query = select(func.count()).select_from(table)
    return int(database.run(lambda s: s.connection().execute(query).scalar_one()))


def put(database: TestDatabase, table: Table, row: dict[str, Any]) -> None:
    now = database.run(database_now)
    instants = {
        name: now
        for name in ("created_at", "seen_at", "refreshed_at")
        if name in table.c and name not in row
    }
    row = row | instants | {"expires_at": now + timedelta(hours=1)}
    database.run(lambda s: s.connection().execute(insert(table).values(row)))


@pytest.mark.parametrize("name", ROWS)
def test_what_is_over_goes(database: TestDatabase, name: str) -> None:
    table = metadata.tables[name]
    put(database, table, ROWS[name])
    pruner = Pruner(database)
    pass_time(database, 3500)
    pruner.run_once()
    assert count(database, table) == 1
    pass_time(database, days=8)
    assert pruner.run_once()[name] == 1
    assert count(database, table) == 0


def test_a_family_goes_with_its_credential_and_no_other(database: TestDatabase) -> None:
    now = database.run(database_now)
    family, secret = new_id(), new_id()
    rows = [
        {"credential_id": family, "principal_id": bytes(16), "kind": "device", "created_at": now},
        {
            "credential_id": secret,
            "principal_id": bytes(16),
            "kind": "client_secret",
            "created_at": now,
        },
    ]
    database.run(lambda s: s.connection().execute(insert(credential), rows))
    told = {"family_id": family, "principal_id": bytes(16), "tenant_id": bytes(16)}
    put(database, refresh_family, told | {"client": "restante-agent", "scopes": ""})
    pruner = Pruner(database)
    pruner.run_once()
    assert (count(database, refresh_family), count(database, credential)) == (1, 2)
    pass_time(database, days=8)
    assert pruner.run_once()["refresh_family"] == 1
    left = select(credential.c.credential_id)
    assert database.run(lambda s: s.connection().execute(left).scalars().all()) == [secret]
    assert count(database, refresh_family) == 0


def test_every_table_that_expires_has_an_end() -> None:
    """A table with `expires_at` that nobody prunes grows for ever; events have timers of their own."""
    pruned = {column.table.name for column, _ in KEPT} | {"refresh_family"}
    expiring = {table.name for table in metadata.sorted_tables if "expires_at" in table.c}
    assert expiring - pruned == {"agent_inbox", "scheduled_event", "archived_event"}
