"""What the producer learns of what he published (contract 6.1)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from restante.errors import InsufficientScope, NotFound, PageTokenInvalid
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.scopes import ProjectScope, TenantScope, Verb
from restante.inbox.receipts import ReceiptQuery, list_receipts, receipt
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.page_token import PAGE_TOKEN_KEYS
from tests.factories import Mailbox, Tenant, make_tenant, pass_time


def of(mail: Mailbox, event_id: bytes, by: Principal | None = None) -> dict[str, Any]:
    producer = by or mail.tenant.service
    told = mail.run(lambda session: receipt(session, producer, event_id))
    return orjson.loads(orjson.dumps(told))


def listed(mail: Mailbox, by: Principal, **query: Any) -> tuple[list[dict[str, Any]], str | None]:
    return mail.run(lambda session: list_receipts(session, by, ReceiptQuery(**query)))


@pytest.fixture(autouse=True)
def _sealed(mail: Mailbox) -> None:
    mail.database.info[PAGE_TOKEN_KEYS] = [b"k" * 32]


def test_the_stages_of_an_event(mail: Mailbox) -> None:
    event = mail.publish(delay_seconds=5, correlation_id="c").event_id
    assert [of(mail, event)[m] for m in ("stage", "status")] == ["accepted", "scheduled"]
    pass_time(mail.database, 5)
    mail.run_due()
    assert [of(mail, event)[m] for m in ("stage", "status")] == ["available", "pending"]
    held = mail.take_one()
    assert [of(mail, event)[m] for m in ("stage", "status")] == ["claimed", "claimed"]
    mail.release(held)
    assert [of(mail, event)[m] for m in ("stage", "status")] == ["claimed", "pending"]
    mail.ack(mail.take_one(), b'{"r":1}')
    told = of(mail, event)
    assert [told[m] for m in ("stage", "status", "result")] == ["completed", "completed", {"r": 1}]
    assert told["accepted_at"] < told["available_at"] <= told["claimed_at"] < told["completed_at"]
    assert told["correlation_id"] == "c"
    pass_time(mail.database, days=31)
    mail.retain()
    assert of(mail, event) == told


@pytest.mark.parametrize("end", ["quarantined", "cancelled", "expired"])
def test_the_other_ends(mail: Mailbox, end: str) -> None:
    event = mail.publish(expires_in_seconds=50).event_id
    match end:
        case "quarantined":
            mail.reject(mail.take_one())
        case "cancelled":
            mail.cancel(event)
        case "expired":
            pass_time(mail.database, 50)
            mail.run_due()
    told = of(mail, event)
    assert (told["stage"], told["status"]) == (end, end)
    assert told[f"{end}_at"] is not None


def test_whose_receipts(mail: Mailbox, tenant: Tenant) -> None:
    publishing = [ProjectScope("p", Verb.PUBLISH)]
    producer = tenant.principal(PrincipalKind.AGENT, publishing)
    twin = tenant.principal(PrincipalKind.AGENT, publishing)
    nobody = tenant.principal(PrincipalKind.SERVICE, [TenantScope.AUDIT_READ])
    foreign = make_tenant(mail.database).service
    event = mail.publish(producer=producer).event_id
    assert of(mail, event, producer)["producer"]["id"] == producer.public_id
    assert of(mail, event)["event_id"] == encode_id(Prefix.EVENT, event)
    for other in (twin, foreign):
        with pytest.raises(NotFound):
            of(mail, event, other)
    with pytest.raises(NotFound):
        of(mail, new_id(), producer)
    with pytest.raises(InsufficientScope):
        of(mail, event, nobody)


@pytest.mark.parametrize("by", ["correlation", "recipient"])
def test_lists_are_paged_and_complete(mail: Mailbox, tenant: Tenant, by: str) -> None:
    producer = tenant.principal(PrincipalKind.AGENT, [ProjectScope("p", Verb.PUBLISH)])
    mine = [
        mail.publish(producer=producer, correlation_id="c", delay_seconds=delay).event_id
        for delay in (None, None, 60, None, 60)
    ]
    mail.publish(correlation_id="c")
    mail.publish(producer=producer, correlation_id="d", recipients=(tenant.agent().id,))
    query = {"correlation_id": "c"} if by == "correlation" else {"recipient_id": mail.id}
    seen, token = [], None
    for _ in range(9):
        page, token = listed(mail, producer, limit=2, page_token=token, **query)
        assert len(page) <= 2
        seen += [r["event_id"] for r in page]
        if token is None:
            break
    assert sorted(seen) == sorted(encode_id(Prefix.EVENT, e) for e in mine)
    assert len(seen) == len(set(seen))


def test_a_page_token_is_sealed_to_its_list_and_caller(mail: Mailbox, tenant: Tenant) -> None:
    producer = tenant.principal(PrincipalKind.AGENT, [ProjectScope("p", Verb.PUBLISH)])
    for _ in range(3):
        mail.publish(producer=producer, correlation_id="c")
    _, token = listed(mail, producer, correlation_id="c", limit=1)
    assert token is not None
    wrong = [token[:-2] + ("AA" if token[-2:] != "AA" else "BB"), "", "x", "é", token + "AAAA"]
    for altered in wrong:
        with pytest.raises(PageTokenInvalid):
            listed(mail, producer, correlation_id="c", limit=1, page_token=altered)
    with pytest.raises(PageTokenInvalid):
        listed(mail, producer, correlation_id="d", limit=1, page_token=token)
    with pytest.raises(PageTokenInvalid):
        listed(mail, tenant.service, correlation_id="c", limit=1, page_token=token)


def test_another_tenants_recipient_is_an_empty_list(mail: Mailbox, tenant: Tenant) -> None:
    foreign = make_tenant(mail.database).agent()
    foreign.publish()
    assert listed(mail, tenant.service, recipient_id=foreign.id) == ([], None)
