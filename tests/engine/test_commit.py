from __future__ import annotations

import pytest

from restante.errors import CursorGone, InsufficientScope, ValidationFailed
from restante.identity.scopes import Verb
from restante.inbox.commit import commit_through
from restante.inbox.lifecycle import Gate
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Mailbox, Tenant, pass_time


def commit(mail: Mailbox, through: int, epoch: str | None = None) -> tuple[int, bool]:
    return mail.run(lambda session: commit_through(session, mail.agent, through, epoch))


def test_it_completes_what_was_never_claimed_and_nothing_else(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    released = mail.publish().event_id
    mail.release(mail.take_one("p"))
    failed = mail.publish().event_id
    mail.fail(mail.take("p")[-1])
    fine = [mail.publish(expires_in_seconds=e).event_id for e in (None, 50_000)]
    assignment = mail.publish(type="work_assignment").event_id
    expired = mail.publish(expires_in_seconds=5).event_id
    scheduled = mail.publish(delay_seconds=500).event_id
    beyond = mail.publish().event_id
    pass_time(mail.database, 100)
    through = mail.row(expired).sequence_number
    narrow = mail.only("p")
    with only_changing(mail.database, released, *fine, expired):
        assert commit(narrow, through) == (2, False)
    assert {mail.gate(e) for e in fine} == {Gate.COMPLETED}
    assert mail.gate(expired) is Gate.EXPIRED
    for event in (failed, assignment, beyond):
        assert mail.gate(event) is Gate.CLAIMABLE
    assert mail.gate(scheduled) is Gate.SCHEDULED
    assert mail.read(fine[0])["payload"] is None
    with unchanged(mail.database):
        assert commit(narrow, through) == (0, False)


def test_waiting_and_delayed_ones_too(mail: Mailbox) -> None:
    ids = [mail.publish(ordering_key="k").event_id for _ in range(4)]
    assert commit(mail, 3) == (3, False)
    assert [mail.gate(e) for e in ids] == [6, 6, 6, 1]
    assert mail.take_one().told["ordering_sequence"] == 4


def test_a_claimed_head_is_passed_over(mail: Mailbox) -> None:
    ids = [mail.publish(ordering_key="k").event_id for _ in range(3)]
    head = mail.take_one()
    assert commit(mail, 2) == (1, False)
    assert [mail.gate(e) for e in ids] == [4, 6, 2]
    mail.ack(head)
    assert mail.take_one().id == ids[2]


def test_at_most_a_thousand_in_sequence_order(mail: Mailbox) -> None:
    mail.publish_many(mail.publication(project="pq"[i % 2], priority=i % 3) for i in range(1000))
    mail.publish_many(mail.publication() for _ in range(5))
    assert commit(mail, 1005) == (1000, True)
    rest = mail.page(limit=10, open_only=True)
    assert (len(rest.events), rest.next_cursor) == (5, 1005)
    assert commit(mail, 1005) == (5, False)


def test_a_cursor_beyond_head_is_refused(mail: Mailbox) -> None:
    mail.publish()
    with unchanged(mail.database), pytest.raises(ValidationFailed) as refused:
        commit(mail, 2)
    assert refused.value.members["errors"][0]["pointer"] == "/through_cursor"


def test_another_epoch_is_refused(mail: Mailbox) -> None:
    mail.publish()
    with unchanged(mail.database), pytest.raises(CursorGone):
        commit(mail, 1, "0" * 32)
    assert commit(mail, 1, mail.inbox_row().epoch.hex()) == (1, False)


def test_it_needs_claim_and_covers_only_that(tenant: Tenant) -> None:
    reader = tenant.agent("p", verbs=[Verb.READ])
    with pytest.raises(InsufficientScope):
        commit(reader, 0)
    mail = tenant.agent()
    other = mail.publish(project="q").event_id
    mail.publish()
    assert commit(mail.only("p"), 2) == (1, False)
    assert mail.gate(other) is Gate.CLAIMABLE
