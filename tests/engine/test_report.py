"""`report`: the producer's own inbox is told of an end, in the same transaction (contract 6.1)."""

from __future__ import annotations

import orjson
import pytest

from restante.inbox.lifecycle import Gate
from restante.storage.ids import Prefix, encode_id
from tests.factories import Mailbox, Tenant, pass_time

ALL = frozenset({"quarantined", "expired", "cancelled"})


@pytest.fixture
def producer(tenant: Tenant) -> Mailbox:
    return tenant.agent()


def reports(producer: Mailbox) -> list[dict[str, object]]:
    return [orjson.loads(text) for text in producer.page(limit=50).events]


@pytest.mark.parametrize("end", ["quarantined", "expired", "cancelled", "retention", "scheduled"])
def test_an_end_is_reported(mail: Mailbox, producer: Mailbox, end: str) -> None:
    members = {"expires_in_seconds": 5} if end == "expired" else {}
    if end == "scheduled":
        members = {"delay_seconds": 50}
    event = mail.publish(
        producer=producer.agent, report=ALL, correlation_id="c", **members
    ).event_id
    match end:
        case "quarantined":
            mail.reject(mail.take_one())
        case "expired":
            pass_time(mail.database, 5)
            mail.run_due()
        case "cancelled" | "scheduled":
            mail.cancel(event, "no longer")
        case "retention":
            pass_time(mail.database, days=31)
            mail.retain()
    (told,) = reports(producer)
    status = {"retention": "expired", "scheduled": "cancelled"}.get(end, end)
    reason = {
        "quarantined": "rejected",
        "expired": "expires_at",
        "retention": "retention",
    }.get(end, "no longer")
    assert (told["type"], told["project"], told["correlation_id"]) == ("delivery_report", "p", "c")
    assert (told["producer"]["kind"], told["producer"]["name"]) == ("server", "restante")
    assert told["causation_id"] == encode_id(Prefix.EVENT, event)
    payload = told["payload"]
    assert (payload["event_id"], payload["status"], payload["reason"]) == (
        encode_id(Prefix.EVENT, event),
        status,
        reason,
    )
    assert payload["recipient_id"] == mail.agent.public_id
    assert producer.take_one().told["payload"] == payload


def test_only_what_was_asked_for_and_only_to_agents(mail: Mailbox, producer: Mailbox) -> None:
    only = frozenset({"expired"})
    mail.publish(producer=producer.agent, report=only)
    mail.reject(mail.take_one())
    mail.publish(producer=producer.agent, report=ALL)
    mail.ack(mail.take_one())
    mail.publish(report=ALL)
    mail.reject(mail.take_one())
    assert reports(producer) == []


def test_a_removed_producer_is_told_nothing(mail: Mailbox, producer: Mailbox) -> None:
    event = mail.publish(producer=producer.agent, report=ALL).event_id
    producer.set_limits(status="removed")
    mail.cancel(event)
    assert producer.inbox_row().head == 0
    assert mail.gate(event) is Gate.CANCELLED


def test_an_agent_may_report_to_itself(mail: Mailbox) -> None:
    event = mail.publish(producer=mail.agent, report=ALL).event_id
    mail.reject(mail.take_one())
    (report,) = mail.take()
    assert report.told["payload"]["event_id"] == encode_id(Prefix.EVENT, event)
    mail.ack(report)
