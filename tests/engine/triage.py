"""Quarantined events and what is done to many of them, for the tests of triage."""

from __future__ import annotations

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.identity.administrators import Administrator
from restante.identity.scopes import TenantScope
from restante.inbox.failures import Failure
from restante.inbox.triage import jobs
from restante.inbox.triage.jobs import Action, Order
from restante.inbox.triage.selection import Filter
from tests.factories import Mailbox, Tenant
from workers.triage import Triage

BOTH = frozenset({TenantScope.QUARANTINE_READ, TenantScope.QUARANTINE_WRITE})
EVERYTHING = Filter()


def admin_of(tenant: Tenant, scopes: frozenset = BOTH) -> Administrator:
    by = Origin(Actor(ActorKind.SERVICE, tenant.service.public_id))
    return Administrator(tenant.id, by, scopes=scopes)


def poison(mail: Mailbox, count: int, *, message: str = "bad 1", **members) -> list[bytes]:
    """Events that have used up their attempts, in the order of their sequence."""
    ids = [mail.publish(max_attempts=1, **members).event_id for _ in range(count)]
    while taken := mail.take():
        for event in taken:
            mail.release(event, delay=0, error=Failure("boom", message))
    return ids


def order(chosen, action: Action = Action.REDRIVE, **members) -> Order:
    return Order(action=action, chosen=chosen, reason="the disk is larger now", **members)


def start(mail: Mailbox, wanted: Order) -> bytes:
    return mail.run(lambda s: jobs.start(s, admin_of(mail.tenant), wanted))


def read(mail: Mailbox, job_id: bytes) -> jobs.Job:
    return mail.run(lambda s: jobs.read(s, admin_of(mail.tenant), job_id))


def work_off(mail: Mailbox) -> int:
    """What a worker does until there is nothing due."""
    worker, did = Triage(mail.database), 0
    while (done := worker.run_once()).get("more"):
        did += done["events"]
    return did
