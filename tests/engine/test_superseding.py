"""A newer event with the same supersedes_key cancels the older ones that nobody holds."""

from __future__ import annotations

import pytest

from restante.errors import InboxFull
from restante.inbox import superseding
from restante.inbox.lifecycle import Gate
from restante.inbox.publication import Publication, Published
from restante.storage.tables.superseding import superseding as noted
from tests.engine.snapshot import changed_events, snapshot, unchanged
from tests.factories import Mailbox, Tenant, pass_time


def put(mail: Mailbox, **members: object) -> Published:
    return mail.publish(**({"supersedes_key": "price"} | members))


def gates(mail: Mailbox, *events: Published) -> list[Gate | None]:
    return [mail.gate(event.event_id) for event in events]


def rows(mail: Mailbox) -> int:
    return len(mail.run(lambda s: s.connection().execute(noted.select()).all()))


def test_the_older_is_cancelled_with_its_reason(mail: Mailbox) -> None:
    old, bystander = put(mail), mail.publish()
    before = snapshot(mail.database)
    new = put(mail)
    changed = changed_events(before, snapshot(mail.database))
    assert changed == {old.event_id, new.event_id}
    told = mail.read(old.event_id)
    assert told["status"] == "cancelled"
    assert [(e["kind"], e["reason"]) for e in told["timeline"]] == [("cancelled", "superseded")]
    assert told["payload"] is not None  # kept until it is archived, as that of any cancelled one
    assert [event.id for event in mail.take()] == [bystander.event_id, new.event_id]


def test_delayed_and_scheduled_ones_too_and_a_scheduled_one_supersedes_at_once(
    mail: Mailbox,
) -> None:
    delayed = put(mail)
    mail.fail(mail.take_one(), delay=500)
    scheduled = put(mail, delay_seconds=100)
    assert gates(mail, delayed, scheduled) == [Gate.CANCELLED, Gate.SCHEDULED]
    newest = put(mail)
    assert gates(mail, delayed, scheduled, newest) == [
        Gate.CANCELLED,
        Gate.CANCELLED,
        Gate.CLAIMABLE,
    ]
    pass_time(mail.database, 600)
    assert [event.id for event in mail.take()] == [newest.event_id]
    assert rows(mail) == 1


def test_what_somebody_holds_stays_and_may_be_superseded_once_it_is_given_back(
    mail: Mailbox,
) -> None:
    first = put(mail)
    held = mail.take_one()
    second = put(mail)
    assert gates(mail, first, second) == [Gate.CLAIMED, Gate.CLAIMABLE]
    mail.release(held)
    third = put(mail)
    assert gates(mail, first, second, third) == [Gate.CANCELLED, Gate.CANCELLED, Gate.CLAIMABLE]


def test_a_holder_may_finish_and_who_let_his_lease_end_holds_nothing(mail: Mailbox) -> None:
    first = put(mail)
    held = mail.take_one()
    put(mail)
    assert mail.ack(held)["status"] == "completed"
    mail.take_one(lease_seconds=10)
    pass_time(mail.database, 11)
    last = put(mail)
    assert [event.id for event in mail.take()] == [last.event_id]
    assert mail.gate(first.event_id) is Gate.COMPLETED


def test_what_is_in_quarantine_stays_for_the_operators(mail: Mailbox) -> None:
    bad = put(mail)
    mail.reject(mail.take_one())
    put(mail)
    assert mail.gate(bad.event_id) is Gate.QUARANTINED
    mail.redrive(bad.event_id)
    newest = put(mail)
    assert mail.gate(bad.event_id) is Gate.CANCELLED
    assert [event.id for event in mail.take()] == [newest.event_id]


@pytest.mark.parametrize(
    "other", [{"supersedes_key": "price "}, {"supersedes_key": None}, {"project": "q"}]
)
def test_another_key_project_or_inbox_is_another_matter(
    mail: Mailbox, tenant: Tenant, other: dict[str, object]
) -> None:
    neighbour = tenant.agent()
    elsewhere = neighbour.publish(supersedes_key="price")
    mine = put(mail)
    put(mail, **other)
    assert mail.gate(mine.event_id) is Gate.CLAIMABLE
    assert neighbour.gate(elsewhere.event_id) is Gate.CLAIMABLE


def test_what_another_producer_published_is_not_ones_own_to_cancel(
    mail: Mailbox, tenant: Tenant
) -> None:
    theirs = put(mail)
    neighbour = tenant.agent().agent
    own, newer = put(mail, producer=neighbour), put(mail, producer=neighbour)
    assert gates(mail, theirs, own, newer) == [Gate.CLAIMABLE, Gate.CANCELLED, Gate.CLAIMABLE]
    put(mail)
    assert gates(mail, theirs, newer) == [Gate.CANCELLED, Gate.CLAIMABLE]


def test_a_fan_out_supersedes_in_every_inbox(mail: Mailbox, tenant: Tenant) -> None:
    neighbour = tenant.agent()
    both = {"recipients": (mail.id, neighbour.id), "supersedes_key": "k"}
    first = mail.publish_many([mail.publication(**both)])
    second = mail.publish_many([mail.publication(**both)])
    assert [box.gate(e.event_id) for box, e in zip((mail, neighbour), first, strict=True)] == [
        Gate.CANCELLED
    ] * 2
    assert [box.gate(e.event_id) for box, e in zip((mail, neighbour), second, strict=True)] == [
        Gate.CLAIMABLE
    ] * 2


def test_of_one_call_the_last_stands(mail: Mailbox) -> None:
    alike = mail.publication(supersedes_key="k", payload=b'{"n":1}', more=(b'{"n":2}',))
    later = mail.publication(supersedes_key="k", payload=b'{"n":3}', ordering_key="o")
    published = mail.publish_many([alike, mail.publication(), later])
    assert [p.gate for p in published] == [
        Gate.CANCELLED,
        Gate.CANCELLED,
        Gate.CLAIMABLE,
        Gate.CLAIMABLE,
    ]
    assert [p.gate for p in published] == gates(mail, *published)
    assert [p.sequence_number for p in published] == [1, 2, 3, 4]


def test_a_cancelled_head_hands_its_ordering_key_on(mail: Mailbox) -> None:
    head = put(mail, ordering_key="o")
    waits = mail.publish(ordering_key="o")
    goes_too = put(mail, ordering_key="o", supersedes_key="other")
    many = [
        mail.publication(supersedes_key="price", ordering_key="o"),
        mail.publication(supersedes_key="other", ordering_key="o"),
    ]
    new = mail.publish_many(many)
    assert gates(mail, head, waits, goes_too, *new) == [
        Gate.CANCELLED,
        Gate.CLAIMABLE,
        Gate.CANCELLED,
        Gate.WAITING,
        Gate.WAITING,
    ]
    order = []
    for _ in range(3):
        event = mail.take_one()
        order.append(event.id)
        mail.ack(event)
    assert order == [waits.event_id, *(e.event_id for e in new)]
    assert mail.take() == []


def test_the_last_of_a_key_frees_it_for_the_one_that_supersedes_it(mail: Mailbox) -> None:
    put(mail, ordering_key="o")
    new = put(mail, ordering_key="o")
    event = mail.take_one()
    assert (event.id, event.told["ordering_sequence"]) == (new.event_id, 2)


def test_a_producer_is_told_who_asked_to_be(mail: Mailbox, tenant: Tenant) -> None:
    producer = tenant.agent()
    old = put(mail, report=frozenset({"cancelled"}), producer=producer.agent)
    later = put(mail, report=frozenset({"cancelled"}), delay_seconds=60, producer=producer.agent)
    put(mail, producer=producer.agent)
    told = [event.told["payload"] for event in producer.take()]
    assert [(t["status"], t["reason"]) for t in told] == [("cancelled", "superseded")] * 2
    assert {t["event_id"][4:] for t in told} == {old.event_id.hex(), later.event_id.hex()}


def test_what_goes_makes_room(mail: Mailbox) -> None:
    mail.set_limits(max_pending=1)
    for _ in range(3):
        newest = put(mail)
    with unchanged(mail.database), pytest.raises(InboxFull):
        put(mail, supersedes_key="other")
    assert mail.gate(newest.event_id) is Gate.CLAIMABLE


def test_a_repeat_supersedes_nothing(mail: Mailbox) -> None:
    first = put(mail, idempotency_key="i")
    second = put(mail)
    again = put(mail, idempotency_key="i")
    assert again.existing
    assert again.event_id == first.event_id
    assert mail.gate(second.event_id) is Gate.CLAIMABLE


def test_a_body_without_the_key_is_the_body_it_was() -> None:
    plain = Publication(recipients=(b"r",), project="p", type="t", payload=b"{}")
    # as release 0.1 kept it: a repeat of then is still known
    assert plain.body_hash().hex() == BEFORE
    plain.supersedes_key = "k"
    assert plain.body_hash().hex() != BEFORE


BEFORE = "f7ac21ae7f7e347048f2a9acf17d06137494eec64ffb7ae031b8ffd69efe028f"


def test_keys_of_events_that_are_gone_are_forgotten(mail: Mailbox) -> None:
    put(mail)
    mail.ack(mail.take_one())
    kept = put(mail, supersedes_key="other")
    assert kept.sequence_number == 2
    pass_time(mail.database, days=40)
    mail.retain()

    def prune(limit: int) -> int:
        return mail.run(lambda session: superseding.prune(session, limit=limit))

    assert [prune(1), prune(10), prune(10)] == [1, 1, 0]
    assert rows(mail) == 0
    put(mail)
    pass_time(mail.database, days=1)
    assert prune(10) == 0
