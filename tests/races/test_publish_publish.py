"""Publishers against publishers: one key, one inbox, opposite orders."""

from __future__ import annotations

from collections.abc import Callable

import orjson
import pytest
from sqlalchemy.orm import Session

from restante.errors import IdempotencyInFlight, IdempotencyKeyReused
from restante.inbox.idempotency import keep, replay, request_hash
from restante.inbox.publish import publish
from tests.factories import Mailbox, Tenant
from tests.races.players import Player, at_once
from tests.races.verbs import publishing

pytestmark = pytest.mark.servers_only


def test_one_publication_key_makes_one_event(mail: Mailbox) -> None:
    first = Player(mail.database, publishing(mail, idempotency_key="k"), holding=True)
    second = Player(mail.database, publishing(mail, idempotency_key="k"))
    second.wait_until_blocked()
    (made,) = first.commit()
    (again,) = second.answer()
    assert (again.event_id, again.sequence_number, again.existing) == (made.event_id, 1, True)
    assert mail.inbox_row().head == 1


def test_another_body_is_refused_once_the_first_has_committed(mail: Mailbox) -> None:
    first = Player(mail.database, publishing(mail, idempotency_key="k"), holding=True)
    second = Player(mail.database, publishing(mail, idempotency_key="k", payload=b"{}"))
    second.wait_until_blocked()
    first.commit()
    with pytest.raises(IdempotencyKeyReused):
        second.answer()
    assert mail.inbox_row().head == 1


def test_the_key_is_free_where_the_first_rolled_back(mail: Mailbox) -> None:
    first = Player(mail.database, publishing(mail, idempotency_key="k"), holding=True)
    second = Player(mail.database, publishing(mail, idempotency_key="k", payload=b"{}"))
    second.wait_until_blocked()
    first.roll_back()
    (made,) = second.answer()
    assert (made.sequence_number, made.existing) == (1, False)


def request(mail: Mailbox, body: bytes = b"{}") -> Callable[[Session], object]:
    """As the edge does it: the key first, then the verb, then what it made."""
    hashed = request_hash("POST", "/api/v1/events", body)

    def work(session: Session) -> object:
        service = mail.tenant.service
        made = replay(session, service, "key", hashed)
        if made is not None:
            return made
        published = publish(session, service, [mail.publication()])
        keep(session, service, "key", [p.event_id.hex() for p in published])
        return None

    return work


def test_a_request_whose_key_is_in_flight_is_told_so_at_once(mail: Mailbox) -> None:
    first = Player(mail.database, request(mail), holding=True)
    for body in (b"{}", b'{"another":1}'):
        second = Player(mail.database, request(mail, body))
        with pytest.raises(IdempotencyInFlight):
            second.answer()
        assert second.tries == 1
    assert first.commit() is None
    (event,) = mail.run(request(mail))
    assert mail.row(bytes.fromhex(event)).sequence_number == 1
    with pytest.raises(IdempotencyKeyReused):
        mail.run(request(mail, b'{"another":1}'))


def test_a_request_that_crashed_frees_its_key(mail: Mailbox) -> None:
    first = Player(mail.database, request(mail), holding=True)
    first.roll_back()
    assert mail.run(request(mail, b'{"another":1}')) is None
    assert mail.inbox_row().head == 1


def test_two_repeats_of_a_finished_request_are_both_answered(mail: Mailbox) -> None:
    mail.run(request(mail))
    first = Player(mail.database, request(mail), holding=True)
    second = Player(mail.database, request(mail))
    assert second.answer() == first.commit() is not None


def test_many_of_one_request_make_one_event(mail: Mailbox) -> None:
    outcomes = at_once(mail.database, [request(mail) for _ in range(5)])
    assert outcomes.count(None) == 1
    for outcome in outcomes:
        assert outcome is None or isinstance(outcome, (list, IdempotencyInFlight)), outcome
    assert mail.inbox_row().head == 1


def test_two_opposite_fan_outs_do_not_lock_each_other_out(tenant: Tenant) -> None:
    boxes = [tenant.agent() for _ in range(4)]
    there = tuple(box.id for box in boxes)
    works = [
        publishing(boxes[0], recipients=there[::step], ordering_key="k", idempotency_key=f"{n}")
        for n, step in enumerate([1, -1] * 6)
    ]
    database = tenant.database
    for part in (works[:6], works[6:]):
        for outcome in at_once(database, part):
            assert len(outcome) == 4
    for box in boxes:
        assert box.inbox_row().head == 12
    # the events of one call have one created_at: every inbox has the calls in the same order
    orders = [[orjson.loads(e)["created_at"] for e in box.page(limit=50).events] for box in boxes]
    assert orders[0] == orders[1] == orders[2] == orders[3]
    assert database.retries == {}


def test_two_calls_of_one_transaction_lock_in_order_too(tenant: Tenant) -> None:
    """A host that publishes to B and then to A does not deadlock with one that does the opposite."""
    one, two = tenant.agent(), tenant.agent()

    def both(boxes: list[Mailbox]) -> Callable[[Session], object]:
        def work(session: Session) -> object:
            for box in boxes:
                publish(session, tenant.service, [box.publication()])
            return None

        return work

    at_once(tenant.database, [both([one, two]), both([two, one])] * 3)
    assert (one.inbox_row().head, two.inbox_row().head) == (6, 6)
    assert tenant.database.retries == {}
