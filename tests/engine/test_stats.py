from __future__ import annotations

from typing import Any

from restante.inbox import stats as stats_module
from restante.inbox.stats import stats
from tests.factories import Mailbox, pass_time


def told(mail: Mailbox) -> dict[str, Any]:
    return mail.run(lambda session: stats(session, mail.agent))


def test_an_empty_inbox(mail: Mailbox) -> None:
    row = mail.inbox_row()
    assert told(mail) == {
        "pending": 0,
        "claimable": 0,
        "scheduled": 0,
        "claimed": 0,
        "quarantined": 0,
        "oldest_pending_age_seconds": None,
        "head": 0,
        "oldest_cursor": 0,
        "epoch": row.epoch.hex(),
        "streams": 0,
        "last_seen_at": None,
    }


def test_every_state_is_counted_in_covered_projects(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    seen = told(mail)
    assert {name: seen[name] for name in list(seen)[:5]} == {
        "pending": 3,
        "claimable": 1,
        "scheduled": 1,
        "claimed": 2,
        "quarantined": 1,
    }
    assert (seen["head"], seen["oldest_cursor"]) == (10, 1)
    narrow = told(mail.only("p"))
    assert [narrow[name] for name in list(narrow)[:5]] == [0] * 5
    assert narrow["head"] == 10


def test_the_age_of_the_longest_pending(mail: Mailbox) -> None:
    mail.publish(priority=3)
    mail.publish(priority=-3)
    pass_time(mail.database, 100)
    mail.publish(priority=5)
    assert 100 <= told(mail)["oldest_pending_age_seconds"] < 130
    mail.ack(mail.take(limit=2)[1])
    assert 100 <= told(mail)["oldest_pending_age_seconds"] < 130
    mail.ack(mail.take_one())
    assert told(mail)["oldest_pending_age_seconds"] is None


def test_counts_stop_at_ten_thousand_and_say_so(mail: Mailbox, monkeypatch) -> None:
    monkeypatch.setattr(stats_module, "MOST", 10)
    mail.publish_many(mail.publication() for _ in range(10))
    assert (told(mail)["pending"], told(mail).get("capped")) == (10, None)
    mail.publish()
    assert (told(mail)["pending"], told(mail)["capped"]) == (10, True)
