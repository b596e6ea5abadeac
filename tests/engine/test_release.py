from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from restante.errors import StaleClaim
from restante.inbox import ending
from restante.inbox.failures import Failure, Outcome
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Release
from restante.inbox.settle import release_consumer
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Mailbox, Tenant, pass_time, set_rules


def test_a_clean_release_gives_the_attempt_back_and_is_immediate(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    mail.publish()
    event = mail.take_one("p")
    with only_changing(mail.database, event.id):
        told = mail.release(event)
    assert (told["status"], told["not_before"]) == ("pending", None)
    row = mail.row(event.id)
    assert (row.gate, row.attempts, row.releases, row.claim_generation) == (1, 0, 1, 1)
    assert (row.claim_expires_at, row.consumer, row.due_at) == (None, None, None)
    again = mail.take_one("p")
    assert (again.id, again.told["attempts"], again.generation) == (event.id, 1, 2)


def test_a_delay_is_kept_to_the_second(mail: Mailbox) -> None:
    mail.publish()
    event = mail.take_one()
    told = mail.release(event, delay=30)
    read = mail.read(event.id)
    assert read["not_before"] == told["not_before"] is not None
    assert read["status"] == told["status"] == "pending"
    row = mail.row(event.id)
    assert (row.gate, row.attempts) == (Gate.DELAYED, 0)
    assert row.available_at < row.not_before == row.due_at
    pass_time(mail.database, 29)
    assert mail.take() == []
    pass_time(mail.database, 1)
    assert mail.take_one().told["not_before"] is None
    assert mail.row(event.id).not_before is None


def test_an_error_is_a_failed_attempt_and_is_remembered(mail: Mailbox) -> None:
    mail.publish(type="invoice")
    event = mail.take_one(consumer="laptop")
    mail.release(event, delay=0, error=Failure("E1", "no host 10.0.0.7", Outcome.NONE))
    row = mail.row(event.id)
    assert (row.gate, row.attempts, row.releases) == (Gate.CLAIMABLE, 1, 0)
    read = mail.read(event.id)
    error = read["last_error"]
    assert (error["code"], error["message"]) == ("E1", "no host 10.0.0.7")
    assert (error["outcome"], error["attempt"], error["quarantine_reason"]) == ("none", 1, None)
    ((at, kind, generation, consumer, reason),) = (
        list(entry.values()) for entry in read["timeline"]
    )
    assert (kind, generation, consumer, reason) == ("released", 1, "laptop", "E1")
    assert at == error["at"]


def test_failures_of_one_kind_have_one_signature(mail: Mailbox) -> None:
    def signature(message: str, **members: object) -> str:
        event = mail.publish(**members).event_id
        mail.release(mail.take_one(), delay=9, error=Failure("E", message))
        return mail.read(event)["failure_signature"]

    first = signature("row 17 of 'a' is gone")
    assert signature("row 99 of 'b' is gone") == first
    assert signature("row 17 of 'a' is here") != first
    assert signature("can't open 'a'") == signature("can't open 'b'")
    assert signature("row 17 of 'a' is gone", type="u") != first


@pytest.mark.parametrize(
    ("members", "ceilings"),
    [
        ({}, [5, 10, 20, 40]),
        ({"backoff": (1.0, 3.0)}, [1, 2, 3, 3]),
        ({"backoff": (0.0, 9.0)}, [0]),
    ],
    ids=["default", "own", "none"],
)
def test_a_failed_event_waits_longer_each_time_with_full_jitter(
    mail: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
    members: dict[str, object],
    ceilings: list[float],
) -> None:
    mail.publish(max_attempts=9, **members)
    for ceiling in ceilings:
        monkeypatch.setattr(ending.random, "random", lambda: 1.0)
        event = mail.take_one()
        told = mail.fail(event, delay=None)
        if not ceiling:
            assert told["not_before"] is None
            continue
        at = datetime.fromisoformat(mail.read(event.id)["last_error"]["at"])
        assert datetime.fromisoformat(told["not_before"]) - at == timedelta(seconds=ceiling)
        pass_time(mail.database, ceiling)
        mail.run_due()
    monkeypatch.setattr(ending.random, "random", lambda: 0.0)
    assert mail.fail(mail.take_one(), delay=None)["not_before"] is None


def test_the_backoff_never_exceeds_a_quarter_of_an_hour(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending.random, "random", lambda: 1.0)
    mail.publish(max_attempts=100)
    for _ in range(12):
        mail.fail(mail.take_one())
    told = mail.fail(event := mail.take_one(), delay=None)
    at = datetime.fromisoformat(mail.read(event.id)["last_error"]["at"])
    assert datetime.fromisoformat(told["not_before"]) - at == timedelta(minutes=15)


def test_attempts_used_up_are_quarantine(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    mail.publish(max_attempts=2)
    mail.fail(mail.take_one("p"))
    event = mail.take_one("p")
    with only_changing(mail.database, event.id):
        assert mail.fail(event, delay=50) == {
            "event_id": event.told["event_id"],
            "status": "quarantined",
            "not_before": None,
        }
    read = mail.read(event.id)
    assert (read["status"], read["payload"], read["attempts"]) == ("quarantined", None, 2)
    assert read["last_error"]["quarantine_reason"] == "attempts_exhausted"
    assert [e["kind"] for e in read["timeline"]] == ["released", "released", "quarantined"]
    assert mail.take("p") == []


def test_too_many_immediate_releases_in_a_row_are_a_loop(mail: Mailbox) -> None:
    set_rules(mail.database, max_releases=3)
    event = mail.publish().event_id
    for _ in range(3):
        assert mail.release(mail.take_one())["status"] == "pending"
    mail.release(mail.take_one(), delay=1)
    pass_time(mail.database, 1)
    for _ in range(3):
        assert mail.release(mail.take_one())["status"] == "pending"
    mail.fail(mail.take_one())
    for _ in range(3):
        assert mail.release(mail.take_one())["status"] == "pending"
    assert mail.release(mail.take_one())["status"] == "quarantined"
    error = mail.read(event)["last_error"]
    assert (error["code"], error["quarantine_reason"]) == ("release_loop", "release_loop")
    mail.redrive(event)
    assert mail.row(event).releases == 0


def test_the_contracts_limit_is_a_hundred(mail: Mailbox) -> None:
    mail.publish()
    for _ in range(100):
        assert mail.release(mail.take_one())["status"] == "pending"
    assert mail.release(mail.take_one())["status"] == "quarantined"


@pytest.mark.parametrize("how", ["clean", "error"])
def test_a_requested_cancel_makes_it_cancelled(mail: Mailbox, how: str) -> None:
    mail.publish()
    event = mail.take_one()
    mail.cancel(event.id)
    told = mail.release(event) if how == "clean" else mail.fail(event)
    assert told["status"] == "cancelled"
    assert mail.read(event.id)["payload"] is not None


@pytest.mark.parametrize("how", ["clean", "error"])
def test_what_has_expired_meanwhile_does_not_start_again(mail: Mailbox, how: str) -> None:
    mail.publish(expires_in_seconds=5)
    event = mail.take_one()
    pass_time(mail.database, 6)
    told = mail.release(event) if how == "clean" else mail.fail(event)
    assert told["status"] == "expired"


def test_an_expiry_ends_a_delay(mail: Mailbox) -> None:
    event = mail.publish(expires_in_seconds=5).event_id
    mail.release(mail.take_one(), delay=60)
    pass_time(mail.database, 5)
    with only_changing(mail.database, event):
        assert mail.run_due() == 1
    assert mail.gate(event) is Gate.EXPIRED


def test_a_late_release_changes_nothing(mail: Mailbox) -> None:
    mail.publish(backoff=(0.0, 0.0))
    late = mail.take_one(lease_seconds=5)
    pass_time(mail.database, 5)
    for _ in range(2):
        with unchanged(mail.database), pytest.raises(StaleClaim):
            mail.fail(late)
        mail.run_due()
    mail.take_one()
    with unchanged(mail.database), pytest.raises(StaleClaim):
        mail.release(late)


def test_one_consumer_gives_back_all_it_holds(mail: Mailbox, tenant: Tenant) -> None:
    mail.publish_many(mail.publication(project=p) for p in "ppqqp")
    a = mail.take("p", limit=2, consumer="a") + mail.take("q", limit=1, consumer="a")
    b = mail.take(consumer="b")
    narrow = mail.only("p")
    with only_changing(mail.database, a[0].id, a[1].id):
        assert mail.run(lambda s: release_consumer(s, narrow.agent, "a")) == 2
    with only_changing(mail.database, a[2].id):
        assert mail.run(lambda s: release_consumer(s, mail.agent, "a")) == 1
    assert [mail.row(e.id).attempts for e in a] == [0, 0, 0]
    assert {mail.gate(e.id) for e in b} == {Gate.CLAIMED}
    with unchanged(mail.database):
        assert mail.run(lambda s: release_consumer(s, mail.agent, "a")) == 0


def test_a_consumers_name_is_compared_exactly(mail: Mailbox) -> None:
    names = ("a", "A", "a ", " a", "á")
    mail.publish_many(mail.publication() for _ in names)
    held = {name: mail.take_one(consumer=name).id for name in names}
    for name in names:
        with only_changing(mail.database, held[name]):
            assert mail.run(lambda s, name=name: release_consumer(s, mail.agent, name)) == 1


def test_the_timeline_keeps_the_last_fifty(mail: Mailbox) -> None:
    event = mail.publish().event_id
    for _ in range(53):
        mail.release(mail.take_one())
    generations = [entry["generation"] for entry in mail.read(event)["timeline"]]
    assert generations == list(range(4, 54))


def test_of_many_each_stands_or_falls_alone(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(2))
    one, two = mail.take()
    told = mail.settle(Release(one.id, 7), Release(two.id, 1))
    assert isinstance(told[0], StaleClaim)
    assert told[1]["status"] == "pending"
    assert mail.gate(one.id) is Gate.CLAIMED
    assert isinstance(mail.settle(Release(one.id, 1))[0], dict)


@pytest.mark.parametrize("how", ["clean", "error"])
def test_an_expiry_to_come_changes_nothing(mail: Mailbox, how: str) -> None:
    mail.publish(expires_in_seconds=500)
    event = mail.take_one()
    told = mail.release(event) if how == "clean" else mail.fail(event)
    assert told["status"] == "pending"
    row = mail.row(event.id)
    assert row.due_at == row.expires_at
