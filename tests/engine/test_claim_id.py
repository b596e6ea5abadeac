"""A claim repeated by its name (contract 5.3)."""

from __future__ import annotations

from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, pass_time

NAME = "n" * 16


def test_a_repeat_returns_the_live_events_with_payload_and_claims_nothing(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(3))
    first = mail.take(limit=2, claim_id=NAME)
    with unchanged(mail.database):
        again = mail.claim(limit=2, claim_id=NAME)
    told = [event.told for event in first]
    repeated = [e.told for e in mail.take(limit=2, claim_id=NAME)]
    for event in told + repeated:
        del event["lease_remaining_ms"]
    assert repeated == told
    assert (again.spent, again.claim_id, len(again.events)) == (False, NAME, 2)


def test_they_come_again_in_the_order_in_which_they_came(mail: Mailbox) -> None:
    mail.publish_many(mail.publication(priority=n) for n in (0, 7, -3, 7))
    first = [event.id for event in mail.take(claim_id=NAME)]
    assert [event.id for event in mail.take(claim_id=NAME)] == first


def test_only_what_is_still_held_comes_again(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(3))
    a, b, c = mail.take(claim_id=NAME)
    mail.ack(a)
    mail.release(b)
    mail.take_one()
    assert [e.id for e in mail.take(claim_id=NAME)] == [c.id]


def test_a_claim_whose_leases_are_over_is_spent(mail: Mailbox) -> None:
    mail.publish()
    mail.take(claim_id=NAME, lease_seconds=5)
    pass_time(mail.database, 10_000)
    claimed = mail.claim(claim_id=NAME)
    assert (claimed.events, claimed.spent, claimed.claimable) == ([], True, 1)
    assert len(mail.take()) == 1


def test_an_empty_answer_stores_nothing(mail: Mailbox) -> None:
    claimed = mail.claim(claim_id=NAME)
    assert (claimed.events, claimed.spent) == ([], False)
    mail.publish()
    assert len(mail.take(claim_id=NAME)) == 1


def test_a_name_belongs_to_inbox_and_consumer(mail: Mailbox) -> None:
    other = mail.tenant.agent()
    other.publish()
    mail.publish_many(mail.publication() for _ in range(3))
    taken = [
        m.take_one(claim_id=NAME, consumer=consumer).id
        for m, consumer in ((mail, "a"), (mail, "b"), (mail, None), (other, "a"))
    ]
    assert len(set(taken)) == 4


def test_the_servers_own_name_is_a_repeat_too(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(2))
    claimed = mail.claim(limit=1)
    again = mail.claim(limit=1, claim_id=claimed.claim_id)
    assert [t[:60] for t in again.events] == [t[:60] for t in claimed.events]
    assert len(mail.take(limit=1)) == 1


def test_a_callers_name_may_look_like_ours(mail: Mailbox) -> None:
    for name in ("clm_of-my-own-making", f"clm_{'0f' * 16}", f"clm_{'0f' * 20}"):
        mail.publish()
        (taken,) = mail.take(limit=1, claim_id=name)
        assert [e.id for e in mail.take(claim_id=name)] == [taken.id]


def test_the_servers_own_name_of_an_empty_answer_is_a_first_call(mail: Mailbox) -> None:
    name = mail.claim().claim_id
    mail.publish()
    claimed = mail.claim(claim_id=name)
    assert (len(claimed.events), claimed.spent, claimed.claim_id) == (1, False, name)
    assert len(mail.take(claim_id=name)) == 1


def test_a_repeat_is_answered_while_paused_or_full(mail: Mailbox) -> None:
    mail.publish()
    mail.take(claim_id=NAME)
    mail.set_limits(max_in_flight=1)
    assert len(mail.take(claim_id=NAME)) == 1
    mail.set_limits(paused=True)
    assert len(mail.take(claim_id=NAME)) == 1
