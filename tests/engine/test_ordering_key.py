"""Rule 6: at most one event of a key is claimable or claimed, and they go in sequence order."""

from __future__ import annotations

import pytest

from restante.inbox.commit import commit_through
from restante.inbox.lifecycle import Gate
from tests.engine.snapshot import only_changing
from tests.factories import Mailbox, Tenant, pass_time


def publish_three(mail: Mailbox, **members: object) -> list[bytes]:
    return [mail.publish(ordering_key="k", **members).event_id for _ in range(3)]


def gates(mail: Mailbox, ids: list[bytes]) -> list[Gate | None]:
    return [mail.gate(event) for event in ids]


def test_one_claim_returns_at_most_one_event_of_a_key(mail: Mailbox) -> None:
    ids = publish_three(mail)
    other = mail.publish(ordering_key="l").event_id
    free = mail.publish().event_id
    assert [e.id for e in mail.take()] == [ids[0], other, free]
    assert mail.take() == []
    assert gates(mail, ids) == [Gate.CLAIMED, Gate.WAITING, Gate.WAITING]


def test_a_key_goes_in_sequence_order_whatever_the_priority(mail: Mailbox) -> None:
    ids = [mail.publish(ordering_key="k", priority=p).event_id for p in (0, 5, 100)]
    order = []
    for number in (1, 2, 3):
        event = mail.take_one()
        assert event.told["ordering_sequence"] == number
        order.append(event.id)
        mail.ack(event)
    assert order == ids


@pytest.mark.parametrize("end", ["ack", "reject", "cancel", "commit", "expire", "lease", "retain"])
def test_every_end_of_a_head_hands_the_key_on(mail: Mailbox, end: str) -> None:
    members = {"expire": {"expires_in_seconds": 500}, "lease": {"max_attempts": 1}}.get(end, {})
    ids = [mail.publish(ordering_key="k", **members).event_id]
    pass_time(mail.database, 100)
    ids += [mail.publish(ordering_key="k").event_id for _ in range(2)]
    changed = ids[:2]
    if end in ("ack", "reject", "lease"):
        event = mail.take_one(lease_seconds=5)
    match end:
        case "ack":
            with only_changing(mail.database, *changed):
                mail.ack(event)
        case "reject":
            with only_changing(mail.database, *changed):
                mail.reject(event)
        case "cancel":
            with only_changing(mail.database, *changed):
                mail.cancel(ids[0])
        case "commit":
            with only_changing(mail.database, *changed):
                mail.run(lambda s: commit_through(s, mail.agent, 1, None))
        case "expire" | "lease":
            pass_time(mail.database, 500)
            with only_changing(mail.database, *changed):
                mail.run_due()
        case "retain":
            pass_time(mail.database, days=30, seconds=-50)
            with only_changing(mail.database, *changed):
                assert mail.retain() == 1
    assert gates(mail, ids)[1:] == [Gate.CLAIMABLE, Gate.WAITING]
    head = mail.take_one()
    assert (head.id, head.told["ordering_sequence"]) == (ids[1], 2)


def test_an_end_further_back_leaves_the_head_alone(mail: Mailbox) -> None:
    ids = [
        mail.publish(ordering_key="k", **m).event_id
        for m in ({}, {"expires_in_seconds": 5}, {}, {})
    ]
    head = mail.take_one(lease_seconds=100)
    mail.cancel(ids[2])
    pass_time(mail.database, 6)
    mail.run_due()
    assert gates(mail, ids) == [Gate.CLAIMED, Gate.EXPIRED, Gate.CANCELLED, Gate.WAITING]
    mail.ack(head)
    assert mail.take_one().id == ids[3]


@pytest.mark.parametrize("back", ["release", "delay", "fail", "lease"])
def test_a_head_that_comes_back_is_still_the_head(mail: Mailbox, back: str) -> None:
    ids = publish_three(mail, backoff=(0.0, 0.0))
    event = mail.take_one(lease_seconds=20)
    match back:
        case "release":
            mail.release(event)
        case "delay":
            mail.release(event, delay=20)
            assert mail.take() == []
            pass_time(mail.database, 20)
        case "fail":
            mail.fail(event)
        case "lease":
            pass_time(mail.database, 20)
    again = mail.take_one()
    assert (again.id, again.generation, again.told["fence"]) == (ids[0], 2, 2)
    assert gates(mail, ids)[1:] == [Gate.WAITING, Gate.WAITING]


def test_a_scheduled_event_joins_when_it_gets_its_sequence(mail: Mailbox) -> None:
    early = mail.publish(ordering_key="k", delay_seconds=10).event_id
    late = mail.publish(ordering_key="k").event_id
    assert mail.gate(late) is Gate.CLAIMABLE
    pass_time(mail.database, 10)
    head = mail.take_one()
    assert (head.id, mail.gate(early)) == (late, Gate.WAITING)
    mail.ack(head)
    joined = mail.take_one()
    assert (joined.id, joined.told["ordering_sequence"]) == (early, 2)


def test_keys_are_compared_exactly_and_belong_to_one_inbox_and_project(
    mail: Mailbox, tenant: Tenant
) -> None:
    keys = ["k", "K", "k ", "\u00e9", "e\u0301", "x" * 200]
    for key in keys:
        mail.publish(ordering_key=key)
    mail.publish(ordering_key="k", project="q")
    other = tenant.agent()
    other.publish(ordering_key="k")
    assert len(mail.take()) == len(keys) + 1
    assert len(other.take()) == 1


def test_fences_grow_with_every_claim_of_the_key(mail: Mailbox) -> None:
    publish_three(mail, backoff=(0.0, 0.0))
    fences = []
    while taken := mail.take(limit=1, lease_seconds=9):
        fences.append(taken[0].told["fence"])
        match len(fences) % 4:
            case 0:
                mail.ack(taken[0])
            case 1:
                mail.release(taken[0])
            case 2:
                pass_time(mail.database, 9)
            case _:
                mail.fail(taken[0])
    mail.publish(ordering_key="k")
    fences.append(mail.take_one().told["fence"])
    assert fences == list(range(1, 14))


def test_waiting_events_are_read_and_counted_as_pending(mail: Mailbox) -> None:
    publish_three(mail)
    page = mail.page()
    assert (len(page.events), page.claimable) == (3, 1)
    assert [mail.read(p)["status"] for p in [mail.publish(ordering_key="k").event_id]] == [
        "pending"
    ]


def test_a_fan_out_keeps_each_inboxs_own_key(mail: Mailbox, tenant: Tenant) -> None:
    other = tenant.agent()
    both = (mail.id, other.id)
    mail.publish(ordering_key="k")
    mail.publish_many(mail.publication(recipients=both, ordering_key="k") for _ in range(2))
    assert len(mail.take()) == len(other.take()) == 1
    rows = [mail.page(), other.page()]
    assert [len(page.events) for page in rows] == [3, 2]
