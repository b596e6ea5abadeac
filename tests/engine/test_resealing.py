"""What was sealed under an earlier secret key is resealed under the newest, and then needs no other."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from restante.identity import resealing
from restante.identity.oidc import journeys
from restante.identity.oidc.journeys import Journey, Ticket, begin_journey, end_journey
from restante.identity.resealing import SEALED, Batch, SealedColumn, reseal_some
from restante.identity.sealing import SealBroken, Sealer
from restante.identity.server_keys import Purpose, ServerKeys
from restante.identity.signing_keys import SigningKeys
from restante.identity.token_keys import TokenKeys
from restante.storage import incarnation
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables import metadata
from restante.storage.tables.identity import credential, token_key
from restante.storage.tables.operators import oidc_transaction
from restante.storage.tables.signatures import signing_key
from tests.factories import Mailbox, make_tenant
from tests.support.databases import TestDatabase

OLD, NEW, LOST = (letter * 20 + "-secret-of-tests" for letter in "onl")
BOTH = [NEW, OLD]
BY_NAME = {str(sealed): sealed for sealed in SEALED}
TOKEN_KEYS = BY_NAME["token_key.private_sealed"]
SIGNING_KEYS = BY_NAME["signing_key.secret_sealed"]
JOURNEYS = BY_NAME["oidc_transaction.verifier_sealed"]


@pytest.fixture
def mail(database: TestDatabase) -> Mailbox:
    return make_tenant(database).agent()


def minted(mail: Mailbox, secret_key: str) -> str:
    """A signing key sealed under a secret key; its id."""

    def work(session: Session) -> str:
        credential_id = new_id()
        row = {"credential_id": credential_id, "principal_id": mail.id, "kind": "client_secret"}
        session.connection().execute(
            insert(credential), row | {"created_at": database_now(session)}
        )
        keys = SigningKeys([secret_key])
        return keys.mint(session, mail.id, credential_id=credential_id).key_id

    return mail.run(work)


def begin_sign_in(database: TestDatabase, secret_key: str) -> Ticket:
    """A sign-in that is at the identity provider."""
    sealer = Sealer([secret_key], journeys.SEALED_FOR)
    return database.run(
        lambda s: begin_journey(s, sealer, browser="browser", return_path="/account")
    )


def resealed(database: TestDatabase, sealed: SealedColumn, *secret_keys: str) -> Batch:
    """One batch, which is all there is."""
    batch = database.run(lambda s: reseal_some(s, sealed, secret_keys=list(secret_keys) or BOTH))
    assert batch.after is None
    return batch


def test_every_sealed_column_is_in_the_table() -> None:
    named = {c for table in metadata.sorted_tables for c in table.c if c.name.endswith("_sealed")}
    assert {sealed.column for sealed in SEALED} == named
    assert all(list(sealed.column.table.primary_key) == [sealed.key] for sealed in SEALED)


def test_the_servers_keys(database: TestDatabase) -> None:
    database.run(incarnation.current)
    old = TokenKeys("https://mail.example", [OLD])
    database.run(old.check)
    database.run(lambda s: ServerKeys([OLD], Purpose.WEBHOOK).signer(s, database_now(s)))
    with pytest.raises(SealBroken):
        database.run(TokenKeys("https://mail.example", [NEW]).check)
    assert resealed(database, TOKEN_KEYS) == Batch(None, 2, 0, ())
    new = TokenKeys("https://mail.example", [NEW])
    database.run(new.check)
    assert new.keys._opened is not None
    assert old.keys._opened is not None
    assert new.keys._opened[0] == old.keys._opened[0]
    assert new.keys._opened[1].thumbprint() == old.keys._opened[0]
    database.run(lambda s: ServerKeys([NEW], Purpose.WEBHOOK).signer(s, database_now(s)))
    assert resealed(database, TOKEN_KEYS) == Batch(None, 0, 2, ())


def test_signing_keys(database: TestDatabase, mail: Mailbox) -> None:
    before, after = minted(mail, OLD), minted(mail, NEW)
    now = database.run(database_now)
    known = database.run(lambda s: SigningKeys(BOTH).verifying(s, mail.id, now=now))
    assert set(known) == {before, after}
    assert resealed(database, SIGNING_KEYS) == Batch(None, 1, 1, ())
    left = database.run(lambda s: SigningKeys([NEW]).verifying(s, mail.id, now=now))
    assert set(left) == {before, after}
    signature = known[before].verifier.sign(b"content")
    assert left[before].verifies(signature, b"content")
    assert not left[after].verifies(signature, b"content")


def test_sign_ins_that_are_on_their_way(database: TestDatabase) -> None:
    ticket = begin_sign_in(database, OLD)
    assert resealed(database, JOURNEYS) == Batch(None, 1, 0, ())
    sealer = Sealer([NEW], journeys.SEALED_FOR)
    found = database.run(lambda s: end_journey(s, sealer, state=ticket.state, browser="browser"))
    assert isinstance(found, Journey)
    assert found.verifier == ticket.verifier


def test_what_no_key_opens_is_named_and_stays_as_it_is(
    database: TestDatabase, mail: Mailbox
) -> None:
    lost, kept = minted(mail, LOST), minted(mail, OLD)
    column = select(signing_key.c.secret_sealed).order_by(signing_key.c.key_id)
    before = database.run(lambda s: s.connection().execute(column).scalars().all())
    assert resealed(database, SIGNING_KEYS) == Batch(None, 1, 0, (lost,))
    after = database.run(lambda s: s.connection().execute(column).scalars().all())
    assert before[0] == after[0]
    assert before[1] != after[1]
    assert resealed(database, SIGNING_KEYS, NEW, LOST) == Batch(None, 1, 1, ())
    now = database.run(database_now)
    found = database.run(lambda s: SigningKeys([NEW]).verifying(s, mail.id, now=now))
    assert set(found) == {lost, kept}


def test_in_batches_and_after_a_break_only_what_is_left(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resealing, "ROWS", 3)
    for _ in range(7):
        begin_sign_in(database, OLD)
    first = database.run(lambda s: reseal_some(s, JOURNEYS, secret_keys=BOTH))
    assert (first.resealed, first.already) == (3, 0)
    assert first.after is not None
    # it was killed here, and is begun again
    did, after = [], None
    for _ in range(3):
        batch = database.run(partial(reseal_some, sealed=JOURNEYS, secret_keys=BOTH, after=after))
        did.append((batch.resealed, batch.already))
        after = batch.after
    assert after is None
    assert did == [(0, 3), (3, 0), (1, 0)]


def test_a_box_that_was_exchanged_meanwhile_is_left_alone(database: TestDatabase) -> None:
    """By another `secrets rotate`, or whoever else writes."""
    for _ in range(2):
        begin_sign_in(database, OLD)
    column = select(oidc_transaction.c.state_hash)
    kept, _ = database.run(lambda s: s.connection().execute(column).scalars().all())

    def work(session: Session) -> Batch:
        original = Sealer.resealed

        def slow(sealer: Sealer, box: bytes, context: str) -> bytes | None:
            newer = original(sealer, box, context)
            change = (
                update(oidc_transaction).values(verifier_sealed=b"other")
                if context == kept.hex()
                else delete(oidc_transaction)
            )
            mine = oidc_transaction.c.state_hash == bytes.fromhex(context)
            session.connection().execute(change.where(mine))
            return newer

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Sealer, "resealed", slow)
            return reseal_some(session, JOURNEYS, secret_keys=BOTH)

    assert database.run(work) == Batch(None, 0, 0, ())
    column = select(oidc_transaction.c.verifier_sealed)
    assert database.run(lambda s: s.connection().execute(column).scalars().all()) == [b"other"]


def test_two_at_once_reseal_each_row_once(database: TestDatabase) -> None:
    for _ in range(50):
        begin_sign_in(database, OLD)
    did: list[Batch] = []
    copies = [
        threading.Thread(target=lambda: did.append(resealed(database, JOURNEYS))) for _ in range(3)
    ]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join(60)
    assert sum(batch.resealed for batch in did) == 50
    assert resealed(database, JOURNEYS, NEW) == Batch(None, 0, 50, ())


def test_a_removed_key_is_not_brought_back(database: TestDatabase) -> None:
    database.run(incarnation.current)
    database.run(TokenKeys("https://mail.example", [OLD]).check)
    database.run(lambda s: s.connection().execute(delete(token_key)))
    assert resealed(database, TOKEN_KEYS) == Batch(None, 0, 0, ())
    count = select(func.count()).select_from(token_key)
    assert database.run(lambda s: s.connection().execute(count).scalar_one()) == 0
