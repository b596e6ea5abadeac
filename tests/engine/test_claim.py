from __future__ import annotations

import secrets
from datetime import datetime, timedelta

import orjson
import pytest

from restante.errors import CursorGone, NotFound
from restante.identity.scopes import Verb
from restante.inbox import timers
from restante.inbox.in_flight import HELD, InFlight
from restante.inbox.lifecycle import Gate
from restante.inbox.rules import PAGE_BYTES
from restante.storage.clock import database_now
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Mailbox, Tenant, make_tenant, pass_time, set_rules


def test_a_claim_takes_the_event_under_a_lease(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    event = mail.publish().event_id
    before = mail.run(database_now)
    with only_changing(mail.database, event):
        taken = mail.take_one("p", lease_seconds=90, consumer="laptop")
    row, told = mail.row(event), taken.told
    assert (row.gate, row.consumer, row.claim_generation, row.attempts) == (4, "laptop", 1, 1)
    assert row.claim_expires_at == row.due_at == row.claimed_at + timedelta(seconds=90)
    assert row.first_claimed_at == row.claimed_at >= before
    assert (told["status"], told["claim_generation"], told["attempts"]) == ("claimed", 1, 1)
    assert told["fence"] is None
    assert 89_000 <= told["lease_remaining_ms"] <= 90_000
    ends = datetime.fromisoformat(told["claim_expires_at"]).replace(tzinfo=None)
    assert ends == row.claim_expires_at


def test_what_is_claimed_is_not_claimed_again(mail: Mailbox) -> None:
    published = [mail.publish().event_id for _ in range(5)]
    first, second, third = mail.take(limit=2), mail.take(limit=2), mail.take(limit=10)
    assert [e.id for e in first + second + third] == published
    with unchanged(mail.database):
        assert mail.take() == []


def test_highest_priority_first_then_lowest_sequence(mail: Mailbox) -> None:
    priorities = [0, 5, -100, 5, 100, 0]
    ids = [mail.publish(priority=p).event_id for p in priorities]
    order = sorted(range(len(ids)), key=lambda i: (-priorities[i], i))
    assert [e.id for e in mail.take()] == [ids[i] for i in order]


def test_the_best_project_comes_first_and_only_those_asked_for(mail: Mailbox) -> None:
    low, high = mail.publish(project="p"), mail.publish(project="q", priority=9)
    assert [e.id for e in mail.take()] == [high.event_id, low.event_id]
    mail.publish(project="p")
    wanted = mail.publish(project="q")
    assert [e.id for e in mail.take("q")] == [wanted.event_id]


def test_a_token_claims_only_in_the_projects_it_covers(mail: Mailbox, tenant: Tenant) -> None:
    mail.publish(project="q")
    with unchanged(mail.database):
        claimed = mail.only("p").claim()
    assert (claimed.events, claimed.claimable) == ([], 0)
    assert len(mail.only("q").take()) == 1


def test_an_empty_claim_changes_nothing(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    with unchanged(mail.database):
        claimed = mail.claim("p", claim_id=secrets.token_hex(16))
    assert (claimed.events, claimed.claimable, claimed.reason) == ([], 0, None)


def test_attempts_and_generations_count_every_claim(mail: Mailbox) -> None:
    mail.publish(max_attempts=9)
    for number in (1, 2, 3):
        event = mail.take_one()
        assert (event.generation, event.told["attempts"]) == (number, number)
        mail.fail(event)


def test_a_lease_that_ends_makes_it_claimable_again(mail: Mailbox) -> None:
    mail.publish(backoff=(0.0, 0.0))
    first = mail.take_one(lease_seconds=10)
    pass_time(mail.database, 9)
    assert mail.take() == []
    pass_time(mail.database, 1)
    (second,) = mail.take()
    assert (second.id, second.generation) == (first.id, 2)


def test_claimable_is_counted_to_a_hundred(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(130))
    assert mail.claim(limit=10).claimable == 100
    assert mail.claim(limit=30).claimable == 90
    claimed = mail.claim(limit=89)
    assert (claimed.claimable, claimed.reason) == (1, None)
    assert 800 <= claimed.next_poll_ms <= 1200


def test_a_claim_ends_at_four_mebibytes_but_never_below_one_event(mail: Mailbox) -> None:
    big = b'{"x":"' + b"a" * (PAGE_BYTES // 3) + b'"}'
    for _ in range(4):
        mail.publish(payload=big)
    assert [len(mail.take()) for _ in range(2)] == [2, 2]
    mail.publish(payload=b'{"x":"' + b"a" * PAGE_BYTES + b'"}')
    assert len(mail.take()) == 1


def test_a_paused_agent_is_given_nothing(mail: Mailbox) -> None:
    mail.publish()
    mail.set_limits(paused=True)
    with unchanged(mail.database):
        claimed = mail.claim()
    assert (claimed.events, claimed.reason, claimed.claimable) == ([], "paused", 0)
    mail.set_limits(paused=False)
    assert len(mail.take()) == 1


def test_an_agent_holds_at_most_max_in_flight(mail: Mailbox) -> None:
    set_rules(mail.database, max_in_flight=4)
    mail.publish_many(mail.publication(project=p) for p in "ppppqqqq")
    held = mail.take(limit=3)
    assert len(mail.take()) == 1
    with unchanged(mail.database):
        claimed = mail.claim()
    assert (claimed.events, claimed.reason, claimed.claimable) == ([], "in_flight", 4)
    mail.ack(held[0])
    assert len(mail.take()) == 1
    mail.set_limits(max_in_flight=6)
    assert len(mail.take()) == 2


def test_a_lower_max_in_flight_holds_at_once(mail: Mailbox) -> None:
    """Also where a process has counted a moment ago, and the limit of then was far."""
    mail.database.info[HELD] = InFlight(clock=lambda: 0.0)
    mail.publish_many(mail.publication() for _ in range(8))
    assert len(mail.take(limit=1)) == 1
    mail.set_limits(max_in_flight=2)
    assert len(mail.take(limit=5)) == 1
    assert mail.claim().reason == "in_flight"
    mail.set_limits(max_in_flight=4)
    assert len(mail.take(limit=5)) == 2


def test_a_cursor_filters_nothing(mail: Mailbox) -> None:
    """What was released lies below every cursor, and is claimed all the same (F1)."""
    event = mail.publish().event_id
    mail.release(mail.take_one())
    assert mail.take_one(after_cursor=1, epoch=mail.inbox_row().epoch.hex()).id == event


def test_a_cursor_of_a_lost_history_claims_nothing(mail: Mailbox) -> None:
    mail.publish()
    for members in ({"after_cursor": 2}, {"epoch": "0" * 32, "after_cursor": 0}):
        with unchanged(mail.database), pytest.raises(CursorGone) as gone:
            mail.claim(**members)
        told = gone.value.members
        assert (told["reason"], told["lost"]) == ("epoch", None)
        assert (told["head"], told["oldest_cursor"]) == (1, 0)
        assert told["epoch"] == mail.inbox_row().epoch.hex()


def test_an_event_past_its_expiry_is_passed_over_and_ends(mail: Mailbox) -> None:
    late = mail.publish(expires_in_seconds=10).event_id
    good = mail.publish(expires_in_seconds=30).event_id
    pass_time(mail.database, 10)
    with only_changing(mail.database, late, good):
        assert mail.take_one().id == good
    assert mail.gate(late) is Gate.EXPIRED


def test_what_has_expired_is_passed_over_where_its_timer_has_not_run(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when somebody else holds it: the expiry is looked at under the claim's own lock."""
    late = mail.publish(expires_in_seconds=10).event_id
    good = mail.publish(expires_in_seconds=30).event_id
    pass_time(mail.database, 10)
    monkeypatch.setattr(timers, "run_due", lambda *_, **__: 0)
    with only_changing(mail.database, good):
        assert [e.id for e in mail.take()] == [good]
    assert mail.gate(late) is Gate.CLAIMABLE


def test_other_inboxes_are_untouched(mail: Mailbox, tenant: Tenant, database) -> None:
    for other in (tenant.agent(), make_tenant(database).agent()):
        theirs = other.publish().event_id
        with unchanged(database):
            assert mail.take() == []
        assert other.gate(theirs) is Gate.CLAIMABLE


def test_an_agent_without_an_inbox_is_not_found(tenant: Tenant) -> None:
    mail = tenant.agent()
    mail.agent = tenant.principal("service", mail.agent.scopes)
    with pytest.raises(NotFound):
        mail.claim()


def test_a_read_token_does_not_claim(tenant: Tenant) -> None:
    reader = tenant.agent("p", verbs=[Verb.READ])
    assert reader.agent.covered(Verb.CLAIM) == ()


def test_the_payload_comes_with_the_claim(mail: Mailbox) -> None:
    mail.publish(payload=b'{"k":  1}')
    (text,) = mail.claim().events
    assert orjson.loads(text)["payload"] == {"k": 1}
    assert text.endswith(b'"payload":{"k":  1}}')
