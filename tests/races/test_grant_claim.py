"""Removal of a grant against a claim, and revocation of a credential against a request."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from sqlalchemy import delete, insert, update

from restante.errors import InsufficientScope, NotFound, Unauthenticated
from restante.identity.authority import Authority
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.recent import STATE_SECONDS
from restante.identity.scopes import Verb
from restante.identity.token_keys import TokenKeys
from restante.identity.tokens import Claims
from restante.inbox.lifecycle import Gate
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.identity import credential, granted_scope
from tests.factories import Event, Mailbox, pass_time
from tests.races.players import Player
from tests.races.verbs import Work, claiming, ids

pytestmark = pytest.mark.servers_only


@dataclass
class Bearer:
    """The agent as its token makes it, asked anew at each request; `seconds` pass by hand."""

    mail: Mailbox
    credential_id: bytes = field(default_factory=new_id)
    seconds: float = 0

    def __post_init__(self) -> None:
        now = self.mail.run(database_now)
        row = {
            "credential_id": self.credential_id,
            "principal_id": self.mail.id,
            "kind": "client_secret",
            "created_at": now,
        }
        self.mail.run(lambda s: s.connection().execute(insert(credential), row))
        keys = TokenKeys("http://localhost", ["k" * 43])
        self.authority = Authority(self.mail.database, keys, monotonic=lambda: self.seconds)

    def now(self) -> Principal:
        return self.authority.principal(
            Claims(
                token_id="t",
                kid="k",
                principal_id=self.mail.id,
                kind=PrincipalKind.AGENT,
                credential_id=self.credential_id,
                scopes=self.mail.agent.scopes,
                issued_at=0,
                expires_at=2**40,
            )
        )

    def inbox(self) -> Mailbox:
        return replace(self.mail, agent=self.now())

    def later(self) -> Bearer:
        self.seconds += STATE_SECONDS
        return self


def withdrawing(mail: Mailbox, verb: Verb = Verb.CLAIM) -> Work:
    gone = delete(granted_scope).where(
        granted_scope.c.principal_id == mail.id, granted_scope.c.scope.like(f"%:{verb}")
    )
    return lambda session: session.connection().execute(gone)


@pytest.fixture
def bearer(mail: Mailbox) -> Bearer:
    return Bearer(mail)


def test_the_removal_was_first(mail: Mailbox, bearer: Bearer) -> None:
    """Not yet committed it takes nothing away; committed, it holds within half a second."""
    mail.publish()
    remover = Player(mail.database, withdrawing(mail), holding=True)
    assert bearer.later().now().covered(Verb.CLAIM)
    remover.commit()
    with pytest.raises(InsufficientScope):
        bearer.later().inbox().claim()
    assert bearer.now().covered(Verb.READ)
    assert mail.row(Event.of(mail.page().events[0]).id).claim_generation == 0


def test_a_removal_that_is_rolled_back_takes_nothing_away(mail: Mailbox, bearer: Bearer) -> None:
    mail.publish()
    remover = Player(mail.database, withdrawing(mail), holding=True)
    remover.roll_back()
    assert len(bearer.later().inbox().take()) == 1


def test_the_claim_was_first(mail: Mailbox, bearer: Bearer) -> None:
    """Its lease lives on; settling is 404, and the event comes back when the lease ends."""
    event_id = mail.publish(backoff=(0.0, 0.0)).event_id
    inbox = bearer.inbox()
    claimer = Player(mail.database, claiming(inbox, lease_seconds=10), holding=True)
    mail.run(withdrawing(inbox))
    assert ids(claimer.commit()) == [event_id]
    with pytest.raises(InsufficientScope):
        bearer.later().inbox().ack(Event(event_id, 1, {}))
    narrowed = mail.only("q")
    with pytest.raises(NotFound):
        narrowed.ack(Event(event_id, 1, {}))
    assert mail.gate(event_id) is Gate.CLAIMED
    pass_time(mail.database, 10)
    mail.run_due()
    assert mail.gate(event_id) is Gate.CLAIMABLE


@pytest.mark.parametrize("end", ["commits", "rolls back"])
def test_a_revocation_and_a_request(mail: Mailbox, bearer: Bearer, end: str) -> None:
    mail.publish()
    now = mail.run(database_now)
    revoke = update(credential).values(revoked_at=now)
    assert bearer.now()
    revoker = Player(mail.database, lambda s: s.connection().execute(revoke), holding=True)
    assert bearer.later().now()
    if end == "rolls back":
        revoker.roll_back()
        assert len(bearer.later().inbox().take()) == 1
        return
    claimer = Player(mail.database, claiming(bearer.inbox()), holding=True)
    revoker.commit()
    with pytest.raises(Unauthenticated):
        bearer.later().now()
    # the request that was under way is carried out: it came before
    assert len(claimer.commit().events) == 1
