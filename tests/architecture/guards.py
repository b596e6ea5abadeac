"""What each verb may touch of an inbox with very much in it: rows in proportion to what it returns.

The suite asks for it in a tenth of the inbox of large_inbox.py, `make bench` in all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from restante.audit.entries import IN_PROCESS
from restante.identity.administrators import Administrator
from restante.identity.roles import Role
from restante.inbox import retention, timers
from restante.inbox.browse import ReadRequest, read_page
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.commit import commit_through
from restante.inbox.event_list import Wanted, list_tenant_events
from restante.inbox.inbox_table import By, list_inboxes
from restante.inbox.orders import Ack, Order, Release
from restante.inbox.publication import Publication
from restante.inbox.publish import publish, write
from restante.inbox.settle import settle_many
from restante.inbox.stats import stats
from restante.inbox.untaken import LOOKED_AT, list_untaken
from tests.architecture.large_inbox import Large
from tests.factories import Mailbox, pass_time

LOOK = 500
"""Rows that a look at an inbox may touch: it counts up to 110 claimable ones in two projects."""


@dataclass(frozen=True)
class Guard:
    """A unit of work on a large inbox, the rows it may touch, and whether it may sort a few."""

    case: str
    work: Callable[[Session], Any]
    rows: int
    sorts: bool = False


Guards = Callable[[Large], Iterator[Guard]]
"""Yields the guards of a verb; what a guard needs is made before it, and it is to be tried at once."""


def claims(large: Large) -> Iterator[Guard]:
    """Claims of one and of all projects, which leave the inbox as it is."""
    mail, projects = large.mail, tuple(large.mail.tenant.projects.values())
    for chosen in {projects, *((project,) for project in projects)}:
        for limit in (1, 10, 100):
            request = ClaimRequest(projects=chosen, limit=limit, claim_id="n" * 16)
            slugs = ", ".join(project.slug for project in chosen)
            yield Guard(
                f"claim {limit} of {slugs}",
                partial(tried, mail=mail, request=request),
                LOOK + 8 * limit,
            )


def reads(large: Large) -> Iterator[Guard]:
    """Pages at the front, in the middle and at the end, and one of open events behind many final ones."""
    mail, projects = large.mail, tuple(large.mail.tenant.projects.values())
    row = mail.inbox_row()  # retention may have moved the oldest cursor
    for after in (None, row.oldest_cursor, large.amounts.completed // 2, row.head - 50, row.head):
        for limit in (1, 100):
            request = ReadRequest(projects=projects, after_cursor=after, limit=limit)
            yield Guard(
                f"read {limit} after {after}",
                partial(read_page, agent=mail.agent, request=request),
                LOOK + 4 * limit,
            )
    some = ReadRequest(projects=projects, after_cursor=row.oldest_cursor, open_only=True)
    # such a page ends after two thousand events examined
    yield Guard("read open events", lambda s: read_page(s, mail.agent, some), LOOK + 2_100)


def scavenging(large: Large) -> Iterator[Guard]:
    """Timers: nothing due, then five leases and a scheduled event."""
    mail = large.mail
    yield Guard("timers of an inbox, nothing due", lambda s: timers.run_due(s, mail.id), 10)
    yield Guard("inboxes due, none", lambda s: timers.due_inboxes(s, limit=100), 10)
    yield Guard("the oldest due, none", timers.oldest_due, 10)
    taken = mail.take(limit=5, lease_seconds=5)
    mail.publish(project=large.slug, delay_seconds=3)
    pass_time(mail.database, 6)
    if len(taken) != 5:
        raise RuntimeError(f"{len(taken)} of 5 events were there to be taken")
    yield Guard("inboxes due, a few", lambda s: timers.due_inboxes(s, limit=100), 30)
    yield Guard("the oldest due, a few", timers.oldest_due, 10)
    yield Guard("timers of an inbox, a few", lambda s: timers.run_due(s, mail.id), 300, sorts=True)
    # those that wait out their backoff are taken away, so that nothing is due for who comes next
    pass_time(mail.database, 6)
    mail.run_due()


def settles(large: Large) -> Iterator[Guard]:
    """Ten acks and ten releases in one call."""
    mail = large.mail
    events = mail.take(large.slug, limit=20)
    orders: list[Order] = [Ack(e.id, e.generation) for e in events[:10]]
    orders += [Release(e.id, e.generation) for e in events[10:]]
    yield Guard("settle 20", lambda s: settle_many(s, mail.agent, orders), 400, sorts=True)


def publishes(large: Large) -> Iterator[Guard]:
    """Three events, one with an ordering key."""
    mail = large.mail
    many = [mail.publication(project=large.slug, ordering_key=k) for k in ("new", None, None)]
    yield Guard("publish 3", lambda s: _published(s, mail, many), 80, sorts=True)


def commits(large: Large) -> Iterator[Guard]:
    """Through a cursor just behind the completed events."""
    mail, through = large.mail, large.amounts.completed + 5
    yield Guard(
        "commit", lambda s: commit_through(s, mail.agent, through, None), LOOK + 200, sorts=True
    )


def counts(large: Large) -> Iterator[Guard]:
    """Counts end at 10,000 a kind; what is counted is read twice, and scheduled ones by each project."""
    mail = large.mail
    yield Guard("stats", lambda s: stats(s, mail.agent), LOOK + 12 * 10_001, sorts=True)


def retentions(large: Large) -> Iterator[Guard]:
    """Nothing old, then twenty events at the front."""
    mail = large.mail
    yield Guard("raise the floor, nothing old", lambda s: retention.raise_floor(s, mail.id), 510)
    yield Guard("archive, nothing old", lambda s: retention.archive(s, mail.id), 10)
    old = text(
        "UPDATE agent_inbox SET available_at = available_at - INTERVAL 40 DAY"
        " WHERE recipient_id = :r AND sequence_number <= 20"
    )
    mail.run(lambda s: s.connection().execute(old, {"r": mail.id}))
    yield Guard("raise the floor", lambda s: retention.raise_floor(s, mail.id), 510)
    yield Guard("archive 20", lambda s: retention.archive(s, mail.id), 20 * 12 + 50)


def listings(large: Large) -> Iterator[Guard]:
    """A page of all events as operators list them, and one that finds nothing of its kind."""
    mail = large.mail
    who = Administrator(mail.tenant.id, IN_PROCESS, role=Role.OPERATOR)
    for case, wanted, rows in (
        ("the newest events", Wanted(), 300),
        ("events of a type that there is none of", Wanted(type="none"), 9_000),
    ):
        yield Guard(
            case, partial(list_tenant_events, administrator=who, wanted=wanted, limit=25), rows
        )


def tables(large: Large) -> Iterator[Guard]:
    """The table of inboxes, whose rows count to 10,000 a kind, and what its queues' heads tell."""
    mail = large.mail
    who = Administrator(mail.tenant.id, IN_PROCESS, role=Role.OPERATOR)
    for by in By:
        work = partial(list_inboxes, administrator=who, limit=25, by=by)
        # to a hundred first, and on where no fresh sample tells more
        yield Guard(f"inboxes by {by}", work, LOOK + 6 * (101 + 10_001), sorts=True)
    lines = mail.run(lambda s: list_inboxes(s, who, limit=25)).lines
    heads = partial(list_untaken, administrator=who, lines=lines)
    yield Guard("leases that nobody took up", heads, 8 * LOOKED_AT, sorts=True)


GUARDS: dict[str, Guards] = {
    "tables": tables,
    "list": listings,
    "claim": claims,
    "read": reads,
    "scavenge": scavenging,
    "settle": settles,
    "publish": publishes,
    "commit": commits,
    "stats": counts,
    "retention": retentions,
}


def tried(session: Session, mail: Mailbox, request: ClaimRequest) -> None:
    """Claim, and leave it at that: the inbox stays as large as it is."""
    claim(session, mail.agent, request)
    session.rollback()


def _published(session: Session, mail: Mailbox, many: list[Publication]) -> None:
    publish(session, mail.tenant.service, many)
    write(session)
