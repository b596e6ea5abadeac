"""Lists of receipts: a page is filled past what is not the producer's, and the archive counts."""

from __future__ import annotations

import pytest

from restante.identity.principal import Principal, PrincipalKind
from restante.identity.scopes import TenantScope
from restante.inbox import receipt_list
from restante.inbox.receipts import ReceiptQuery, list_receipts
from restante.storage.ids import Prefix, encode_id
from tests.factories import Mailbox, Tenant, pass_time


def page(mail: Mailbox, by: Principal, **query: object) -> tuple[list[str], str | None]:
    """Ids of a page, and the token of the next."""
    asked = ReceiptQuery(**query)  # type: ignore[arg-type]  # as named
    receipts, token = mail.run(lambda session: list_receipts(session, by, asked))
    return [receipt["event_id"] for receipt in receipts], token


def made(mail: Mailbox, by: Principal, **members: object) -> str:
    event = mail.publish(producer=by, correlation_id="c", **members)
    return encode_id(Prefix.EVENT, event.event_id)


@pytest.fixture
def other(tenant: Tenant) -> Principal:
    return tenant.principal(PrincipalKind.SERVICE, [TenantScope.EVENTS_PUBLISH])


def test_a_page_looks_past_the_events_of_others(mail: Mailbox, other: Principal) -> None:
    for _ in range(3):
        made(mail, mail.tenant.service)
    own = [made(mail, other)]
    for _ in range(3):
        made(mail, mail.tenant.service)
    own += [made(mail, other), made(mail, other, delay_seconds=60)]
    made(mail, mail.tenant.service, delay_seconds=60)
    for query in ({"correlation_id": "c"}, {"recipient_id": mail.id}):
        assert page(mail, other, **query, limit=3) == (own, None)
        first, token = page(mail, other, **query, limit=2)
        assert (first, token is None) == (own[:2], False)
        assert page(mail, other, **query, limit=2, page_token=token) == (own[2:], None)


def test_no_page_examines_more_than_its_bound(
    mail: Mailbox, other: Principal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipt_list, "PAGE_EXAMINED", 4)
    for _ in range(6):
        made(mail, mail.tenant.service)
    own = made(mail, other)
    for query in ({"correlation_id": "c"}, {"recipient_id": mail.id}):
        empty, token = page(mail, other, **query)
        assert empty == []
        assert page(mail, other, **query, page_token=token) == ([own], None)


def test_what_is_archived_is_listed_in_its_place(mail: Mailbox) -> None:
    service = mail.tenant.service
    quarantined = made(mail, service)
    mail.reject(mail.take_one())
    done = made(mail, service)
    mail.ack(mail.take_one())
    pass_time(mail.database, days=31)
    young = made(mail, service)
    assert mail.retain() == 1
    everything = [quarantined, done, young]
    for query in ({"correlation_id": "c"}, {"recipient_id": mail.id}):
        assert page(mail, service, **query) == (everything, None)
        first, token = page(mail, service, **query, limit=1)
        assert first == [quarantined]
        assert page(mail, service, **query, page_token=token) == (everything[1:], None)
