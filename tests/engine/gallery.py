"""One event in every state there is: what a verb that means another event must leave alone."""

from __future__ import annotations

from restante.inbox.lifecycle import Gate
from tests.factories import Mailbox, pass_time

FAR = 40_000
"""Seconds for which leases and delays of the gallery last."""


def hang(mail: Mailbox, slug: str = "q") -> dict[str, bytes]:
    """Publish into the project and bring each event into the state it is named after."""
    database = mail.database
    archived = mail.publish(project=slug).event_id
    mail.ack(mail.take_one(slug))
    pass_time(database, days=31)
    assert mail.retain() == 1

    expired = mail.publish(project=slug, expires_in_seconds=1).event_id
    pass_time(database, 2)
    assert mail.run_due() == 1

    completed = mail.publish(project=slug).event_id
    mail.ack(mail.take_one(slug), b'{"done":true}')
    quarantined = mail.publish(project=slug, max_attempts=1).event_id
    mail.fail(mail.take_one(slug))
    delayed = mail.publish(project=slug).event_id
    mail.release(mail.take_one(slug), delay=FAR)
    claimed = mail.publish(project=slug, ordering_key="gallery").event_id
    mail.take_one(slug, lease_seconds=FAR, consumer="gallery")
    waiting = mail.publish(project=slug, ordering_key="gallery").event_id
    asked = mail.publish(project=slug).event_id
    mail.take_one(slug, lease_seconds=FAR, consumer="gallery")
    assert mail.cancel(asked) == "cancel_requested"
    cancelled = mail.publish(project=slug).event_id
    mail.cancel(cancelled)
    scheduled = mail.publish(project=slug, delay_seconds=FAR).event_id
    unscheduled = mail.publish(project=slug, delay_seconds=FAR).event_id
    mail.cancel(unscheduled)
    pending = mail.publish(project=slug).event_id
    hung = {
        "archived": archived,
        "expired": expired,
        "completed": completed,
        "quarantined": quarantined,
        "delayed": delayed,
        "claimed": claimed,
        "waiting": waiting,
        "asked": asked,
        "cancelled": cancelled,
        "scheduled": scheduled,
        "unscheduled": unscheduled,
        "pending": pending,
    }
    assert {name: mail.gate(event) for name, event in hung.items()} == {
        "archived": None,
        "expired": Gate.EXPIRED,
        "completed": Gate.COMPLETED,
        "quarantined": Gate.QUARANTINED,
        "delayed": Gate.DELAYED,
        "claimed": Gate.CLAIMED,
        "waiting": Gate.WAITING,
        "asked": Gate.CLAIMED,
        "cancelled": Gate.CANCELLED,
        "scheduled": Gate.SCHEDULED,
        "unscheduled": Gate.CANCELLED,
        "pending": Gate.CLAIMABLE,
    }
    return hung
