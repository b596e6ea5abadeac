"""The keys that sign tokens: one is made, by whoever needs it first, and it opens with its secret only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC

import pytest
from sqlalchemy import select

from restante.identity.credentials import Client
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import ProjectScope, Verb
from restante.identity.sealing import SealBroken
from restante.identity.token_keys import TokenKeys
from restante.identity.tokens import verify
from restante.storage import incarnation
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.identity import token_key
from tests.support.databases import TestDatabase

ISSUER = "https://mail.example"
SECRET, OTHER = "s" * 20 + "ecret-of-tests-1", "o" * 20 + "ther-of-tests-12"
CLIENT = Client(new_id(), new_id(), PrincipalKind.AGENT, new_id())


def test_of_workers_that_start_at_once_one_makes_the_key(database: TestDatabase) -> None:
    database.run(incarnation.current)
    workers = [TokenKeys(ISSUER, [SECRET]) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        issued = list(pool.map(lambda w: database.run(lambda s: w.issue(s, CLIENT, [])), workers))
    (row,) = database.run(lambda s: s.connection().execute(select(token_key)).all())
    keys = database.run(TokenKeys(ISSUER, [SECRET]).verifying)
    assert list(keys) == [row.kid]
    assert len({token.access_token for token in issued}) == 6


def test_every_worker_takes_what_another_signed(database: TestDatabase) -> None:
    first, second = TokenKeys(ISSUER, [SECRET]), TokenKeys(ISSUER, [SECRET])
    scopes = [ProjectScope("p1", Verb.READ)]
    token = database.run(lambda s: first.issue(s, CLIENT, scopes)).access_token
    now = database.run(database_now).replace(tzinfo=UTC).timestamp()
    claims = verify(token, issuer=ISSUER, keys=database.run(second.verifying), now=now)
    assert (claims.principal_id, claims.credential_id) == (
        CLIENT.principal_id,
        CLIENT.credential_id,
    )
    assert claims.scopes == set(scopes)


def test_another_secret_key_is_noticed_and_the_previous_one_helps(database: TestDatabase) -> None:
    database.run(TokenKeys(ISSUER, [SECRET]).check)
    with pytest.raises(SealBroken, match="RESTANTE_SECRET_KEY_PREVIOUS"):
        database.run(TokenKeys(ISSUER, [OTHER]).check)
    database.run(TokenKeys(ISSUER, [OTHER, SECRET]).check)
    rows = database.run(lambda s: s.connection().execute(select(token_key)).all())
    assert len(rows) == 1


def test_verifying_needs_no_secret_key(database: TestDatabase) -> None:
    database.run(TokenKeys(ISSUER, [SECRET]).check)
    assert len(database.run(TokenKeys(ISSUER, [OTHER]).verifying)) == 1
