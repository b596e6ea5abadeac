"""Verbs as work for players: each takes a session and does not commit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from restante.identity.scopes import Verb
from restante.inbox import cancel, quarantine, retention, timers
from restante.inbox.browse import ReadRequest, read_page
from restante.inbox.claim import Claimed, ClaimRequest, claim
from restante.inbox.failures import Failure
from restante.inbox.orders import Ack, Release, Renew
from restante.inbox.publish import publish
from restante.inbox.settle import settle_one
from restante.storage.transaction import Database
from tests.factories import Event, Mailbox

Work = Callable[[Session], Any]


def claiming(mail: Mailbox, *slugs: str, **members: Any) -> Callable[[Session], Claimed]:
    covered = mail.agent.require_any(Verb.CLAIM)
    projects = tuple(p for p in covered if not slugs or p.slug in slugs)
    request = ClaimRequest(projects=projects, **members)
    return lambda session: claim(session, mail.agent, request)


def acking(mail: Mailbox, event: Event) -> Work:
    return lambda session: settle_one(session, mail.agent, Ack(event.id, event.generation))


def releasing(mail: Mailbox, event: Event, error: Failure | None = None) -> Work:
    order = Release(event.id, event.generation, None, error)
    return lambda session: settle_one(session, mail.agent, order)


def renewing(mail: Mailbox, event: Event, seconds: int = 60) -> Work:
    order = Renew(event.id, event.generation, seconds)
    return lambda session: settle_one(session, mail.agent, order)


def publishing(mail: Mailbox, **members: Any) -> Work:
    publication = mail.publication(**members)
    return lambda session: publish(session, mail.tenant.service, [publication])


def cancelling(mail: Mailbox, event_id: bytes) -> Work:
    return lambda session: cancel.cancel(session, mail.tenant.service, event_id, "no longer")


def redriving(mail: Mailbox, event_id: bytes) -> Work:
    return lambda session: quarantine.redrive(
        session, mail.tenant.id, event_id, actor="opr_x", reason="mended"
    )


def scavenging(mail: Mailbox, *, nowait: bool = False) -> Work:
    return lambda session: timers.run_due(session, mail.id, nowait=nowait)


def raising_the_floor(mail: Mailbox) -> Work:
    return lambda session: retention.raise_floor(session, mail.id)


def archiving(mail: Mailbox) -> Work:
    return lambda session: retention.archive(session, mail.id)


def reading(mail: Mailbox, **members: Any) -> Work:
    request = ReadRequest(projects=mail.agent.require_any(Verb.READ), **members)
    return lambda session: read_page(session, mail.agent, request)


def ids(claimed: Claimed) -> list[bytes]:
    """The events that a claim took."""
    return [Event.of(text).id for text in claimed.events]


def later(mail: Mailbox, seconds: float) -> Mailbox:
    """The same inbox, seen by one whose clock is so far on."""
    database = Database(
        mail.database.engine,
        clock_offset=mail.database.clock_offset + timedelta(seconds=seconds),
        info=mail.database.info,
    )
    return mail.on(database)
