from __future__ import annotations

from datetime import datetime, timedelta

import orjson
import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.errors import InsufficientScope, RecipientRefused, ValidationFailed
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import ProjectScope, Verb
from restante.inbox.lifecycle import Gate
from restante.inbox.publish import publish
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.signals import wake
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import PAYLOAD, Mailbox, Tenant, make_tenant, pass_time


def test_sequences_are_dense_from_one_in_the_order_listed(mail: Mailbox) -> None:
    first = mail.publish_many(mail.publication(type=f"t{i}") for i in range(3))
    second = mail.publish_many([mail.publication(), mail.publication(project="q")])
    assert [p.sequence_number for p in first + second] == [1, 2, 3, 4, 5]
    assert mail.inbox_row().head == 5
    told = [orjson.loads(text)["type"] for text in mail.page(limit=10).events]
    assert told == ["t0", "t1", "t2", "t", "t"]


def test_what_many_get_is_the_same_in_each_inbox(mail: Mailbox, tenant: Tenant) -> None:
    """Payloads that are long together are sent to the database once."""
    boxes = [mail, tenant.agent(), tenant.agent()]
    to = tuple(box.id for box in boxes)
    long, short = (b'{"n": "' + b"\xc3\xa9%s\\\\" * n + b'"}' for n in (8_000, 1))
    mail.publish_many(mail.publication(recipients=to, payload=one) for one in (long, short))
    mail.publish_many([mail.publication(recipients=to, payload=long, type="u")])
    for box in boxes:
        found = box.run(
            lambda s, box=box: (
                s.connection()
                .execute(
                    select(event_content.c.payload, event_content.c.options)
                    .where(event_content.c.recipient_id == box.id)
                    .order_by(event_content.c.sequence_number)
                )
                .all()
            )
        )
        assert [tuple(row) for row in found] == [(long, None), (short, None), (long, None)]
        types = [orjson.loads(text)["type"] for text in box.page(limit=3).events]
        assert types == ["t", "t", "u"]


def test_an_event_is_told_as_it_was_published(mail: Mailbox, tenant: Tenant) -> None:
    other = tenant.agent()
    corrected = mail.publish().event_id
    now = mail.run(database_now)
    published = mail.publish(
        priority=7,
        correlation_id="c",
        causation_id="d",
        reply_to=other.id,
        ordering_key="k",
        expires_in_seconds=50,
        max_attempts=3,
        corrects=corrected,
        traceparent="00-1-2-01",
    )
    told = mail.read(published.event_id)
    created, expires = (datetime.fromisoformat(told[m]) for m in ("created_at", "expires_at"))
    assert expires - created == timedelta(seconds=50)
    assert abs(created.replace(tzinfo=None) - now) < timedelta(seconds=30)
    assert told["available_at"] == told["created_at"]
    del told["created_at"], told["available_at"], told["expires_at"]
    assert told == {
        "event_id": encode_id(Prefix.EVENT, published.event_id),
        "sequence_number": 2,
        "project": "p",
        "type": "t",
        "priority": 7,
        "correlation_id": "c",
        "causation_id": "d",
        "reply_to": other.agent.public_id,
        "ordering_key": "k",
        "ordering_sequence": 1,
        "producer": {
            "kind": "service",
            "id": tenant.service.public_id,
            "name": tenant.service.name,
            "signed": False,
        },
        "payload": orjson.loads(PAYLOAD),
        "status": "pending",
        "attempts": 0,
        "max_attempts": 3,
        "not_before": None,
        "corrects": encode_id(Prefix.EVENT, corrected),
        "redriven": False,
        "traceparent": "00-1-2-01",
        "result": None,
        "last_error": None,
        "failure_signature": None,
        "superseded_by": None,
        "timeline": [],
    }


def test_a_payload_is_kept_byte_for_byte(mail: Mailbox) -> None:
    payload = b'{"z":1e3,  "a":"\\u00e9 \xf0\x9f\x98\x80","n":12345678901234567890123.50}'
    mail.publish(payload=payload)
    (text,) = mail.page().events
    assert b'"payload":' + payload in text
    (text,) = mail.claim().events
    assert b'"payload":' + payload in text


def test_a_fan_out_writes_every_inbox_and_no_other(
    tenant: Tenant, mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    others, bystander = [tenant.agent() for _ in range(3)], tenant.agent()
    bystander.publish()
    to = [mail, *others]
    publications = [mail.publication(recipients=tuple(m.id for m in to)) for _ in range(2)]
    head = mail.inbox_row().head
    published = mail.publish_many(publications)
    assert [p.recipient_id for p in published] == [m.id for m in to] * 2
    assert [p.sequence_number for p in published] == [head + 1, 1, 1, 1, head + 2, 2, 2, 2]
    assert bystander.inbox_row().head == 1
    assert mail.gate(gallery["pending"]) is Gate.CLAIMABLE


@pytest.mark.parametrize("ahead", [{"delay_seconds": 60}, {"available_at": None}], ids=str)
def test_a_scheduled_event_has_no_sequence_and_is_not_seen(
    mail: Mailbox, ahead: dict[str, object]
) -> None:
    if "available_at" in ahead:
        ahead = {"available_at": mail.run(database_now) + timedelta(seconds=60)}
    published = mail.publish(**ahead)
    assert (published.sequence_number, published.gate) == (None, Gate.SCHEDULED)
    assert mail.inbox_row().head == 0
    assert mail.page().events == mail.take() == []
    told = mail.read(published.event_id)
    assert (told["status"], told["sequence_number"]) == ("scheduled", None)
    pass_time(mail.database, 61)
    assert [e.id for e in mail.take()] == [published.event_id]


def test_what_should_have_been_available_long_ago_is_available_now(mail: Mailbox) -> None:
    """It was not here before: retention must not eat it unread."""
    now = mail.run(database_now)
    event = mail.publish(available_at=now - timedelta(days=400)).event_id
    assert mail.row(event).available_at >= now
    assert mail.retain() == 0


def test_an_event_that_could_never_start_is_refused(mail: Mailbox) -> None:
    now = mail.run(database_now)
    for members in (
        {"expires_at": now - timedelta(seconds=1)},
        {"expires_at": now + timedelta(seconds=50), "delay_seconds": 60},
        {"expires_in_seconds": 0},
    ):
        with unchanged(mail.database), pytest.raises(ValidationFailed) as refused:
            mail.publish_many([mail.publication(), mail.publication(**members)])
        assert refused.value.members["errors"][0]["pointer"] == "/events/1/expires_at"


def test_who_may_be_written_to(tenant: Tenant, mail: Mailbox, database) -> None:
    """Unknown, foreign, removed and without the project are refused alike, and nobody gets any."""
    foreign = make_tenant(database).agent()
    removed, elsewhere = tenant.agent(), tenant.agent("q")
    publisher_only = tenant.agent("p", verbs=[Verb.PUBLISH])
    removed.set_limits(status="removed")
    for wrong in (foreign, removed, elsewhere, publisher_only, tenant.service):
        with unchanged(database), pytest.raises(RecipientRefused) as refused:
            mail.publish(recipients=(mail.id, wrong.id))
        assert refused.value.members == {"recipients": [encode_id(Prefix.AGENT, wrong.id)]}
    with unchanged(database), pytest.raises(RecipientRefused):
        mail.publish(reply_to=foreign.id)


def test_a_disabled_agent_and_a_wildcard_grant_receive(tenant: Tenant) -> None:
    disabled = tenant.agent("p", verbs=[Verb.READ])
    disabled.set_limits(status="disabled")
    assert disabled.publish().sequence_number == 1
    every = tenant.agent("*", verbs=[Verb.CLAIM])
    assert every.publish(project="q").sequence_number == 1


def test_what_a_producer_may_publish_in(tenant: Tenant, mail: Mailbox, database) -> None:
    producer = tenant.principal(
        PrincipalKind.AGENT, [ProjectScope("p", Verb.PUBLISH), ProjectScope("q", Verb.READ)]
    )
    assert mail.publish(producer=producer).sequence_number == 1
    for slug in ("q", "nosuch"):
        with unchanged(database), pytest.raises(InsufficientScope) as refused:
            mail.publish(producer=producer, project=slug)
        assert refused.value.members == {"required_scope": f"agent:{slug}:publish"}
    with unchanged(database), pytest.raises(ValidationFailed):
        mail.publish(project="nosuch")


def test_a_refused_publication_leaves_nothing_of_its_call(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    with only_changing(mail.database), pytest.raises(RecipientRefused):
        mail.publish_many([mail.publication(), mail.publication(recipients=(b"\0" * 16,))])


def test_the_bell_rings_with_the_commit_and_never_on_rollback(mail: Mailbox) -> None:
    def count(session: Session) -> int:
        return session.connection().execute(select(func.count()).select_from(wake)).scalar_one()

    heard: list[object] = []
    mail.database.info["restante.on_ring"] = heard.append

    def fails(session: Session) -> None:
        publish(session, mail.tenant.service, [mail.publication()])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        mail.run(fails)
    assert (heard, mail.run(count)) == ([], 0)
    mail.publish_many([mail.publication(), mail.publication(), mail.publication(project="q")])
    assert mail.run(count) == 2
    ((p, q),) = heard
    assert {p.project_id, q.project_id} == {x.id for x in mail.tenant.projects.values()}
    assert {p.head, q.head} == {3}
    mail.publish(delay_seconds=5)
    assert len(heard) == 1


def test_content_and_row_stand_for_the_same_events(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(3))
    for table in (agent_inbox, event_content):
        keys = select(table.c.recipient_id, table.c.sequence_number).order_by(
            table.c.sequence_number
        )
        rows = mail.run(lambda s, q=keys: s.connection().execute(q).all())
        assert rows == [(mail.id, n) for n in (1, 2, 3)]
