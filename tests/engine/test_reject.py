from __future__ import annotations

import pytest

from restante.errors import StaleClaim
from restante.inbox.lifecycle import Gate
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import PAYLOAD, Mailbox, pass_time


def test_a_reject_is_quarantine_now(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    mail.publish(max_attempts=9)
    event = mail.take_one("p", consumer="laptop")
    with only_changing(mail.database, event.id):
        told = mail.reject(event, "no such customer")
    assert (told["status"], told["not_before"]) == ("quarantined", None)
    read = mail.read(event.id)
    assert (read["status"], read["payload"], read["attempts"]) == ("quarantined", None, 1)
    error = read["last_error"]
    assert (error["code"], error["message"], error["outcome"]) == (
        "rejected",
        "no such customer",
        "failed",
    )
    assert error["quarantine_reason"] == "rejected"
    first, second = read["timeline"]
    assert (first["kind"], first["reason"], first["consumer"]) == (
        "rejected",
        "no such customer",
        "laptop",
    )
    assert (second["kind"], second["reason"]) == ("quarantined", "rejected")
    mail.redrive(event.id)
    assert mail.take_one("p").told["payload"] == {"a": 1, "b": "é"}
    assert PAYLOAD


def test_a_requested_cancel_wins(mail: Mailbox) -> None:
    mail.publish()
    event = mail.take_one()
    mail.cancel(event.id)
    assert mail.reject(event)["status"] == "cancelled"


def test_a_late_reject_changes_nothing(mail: Mailbox) -> None:
    mail.publish()
    late = mail.take_one(lease_seconds=5)
    pass_time(mail.database, 5)
    with unchanged(mail.database), pytest.raises(StaleClaim):
        mail.reject(late)
    assert mail.gate(late.id) is Gate.CLAIMED


def test_an_expired_event_is_quarantined_all_the_same(mail: Mailbox) -> None:
    mail.publish(expires_in_seconds=5)
    event = mail.take_one()
    pass_time(mail.database, 10)
    assert mail.reject(event)["status"] == "quarantined"
