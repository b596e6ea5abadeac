"""Before each heartbeat the right to listen is checked again, for all streams by one question."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from sqlalchemy import Executable, delete, event, insert, update

from restante.errors import Overloaded
from restante.identity.tokens import Claims
from restante.signals.presence import Notes
from restante.signals.streams import End, Stream, Streams
from restante.storage.tables.identity import credential, granted_scope, principal, token_key
from restante.storage.tables.logins import revoked_token
from tests.factories import Mailbox, Tenant
from tests.support.databases import TestDatabase
from tests.workers.conftest import HEARTBEAT_SECONDS, Clock
from workers.heartbeat import FEW, MOST_UNCHECKED, SLICES, Heartbeat

Subscribe = Callable[[Mailbox], Stream[Claims]]


class Wire:
    """A connection that tells what became of it."""

    def __init__(self) -> None:
        self.gone = False
        self.hung_up = False

    def is_gone(self) -> bool:
        return self.gone

    def hang_up(self) -> None:
        self.hung_up = True


@pytest.fixture
def notes() -> Notes:
    return Notes()


@pytest.fixture
def heartbeat(database: TestDatabase, streams: Streams[Claims], notes: Notes) -> Heartbeat:
    return Heartbeat(database, streams, notes)


def reason(stream: Stream[Claims]) -> End | None:
    return None if stream.ending is None else stream.ending.reason


def change(database: TestDatabase, statement: Executable) -> None:
    database.run(lambda session: session.connection().execute(statement))


def test_a_stream_that_is_due_gets_its_heartbeat(
    heartbeat: Heartbeat, subscribe: Subscribe, mail: Mailbox, clock: Clock, notes: Notes
) -> None:
    stream = subscribe(mail)
    assert heartbeat.run_once()["beats"] == 0
    clock.now += HEARTBEAT_SECONDS
    assert heartbeat.run_once() == {"beats": 1, "revoked": 0}
    assert stream.beating
    assert clock.now < stream.beat_at <= clock.now + HEARTBEAT_SECONDS
    assert notes.take() == {mail.id: None}


@pytest.mark.parametrize("what", ["disabled", "credential", "grants", "token", "key"])
def test_who_may_no_longer_listen_is_told_within_a_heartbeat(
    heartbeat: Heartbeat,
    database: TestDatabase,
    subscribe: Subscribe,
    tenant: Tenant,
    clock: Clock,
    what: str,
) -> None:
    mail, other = tenant.agent(), tenant.agent()
    stream, theirs = subscribe(mail), subscribe(other)
    mine = {
        "disabled": update(principal)
        .where(principal.c.principal_id == mail.id)
        .values(status="disabled"),
        "credential": update(credential)
        .where(credential.c.principal_id == mail.id)
        .values(revoked_at=credential.c.created_at),
        "grants": delete(granted_scope).where(granted_scope.c.principal_id == mail.id),
        "token": insert(revoked_token).values(
            principal_id=mail.id,
            token_id=stream.standing.token_id,
            expires_at=datetime.fromtimestamp(stream.standing.expires_at, UTC).replace(tzinfo=None),
        ),
        "key": delete(token_key),
    }
    change(database, mine[what])
    clock.now += HEARTBEAT_SECONDS
    heartbeat.run_once()
    assert reason(stream) is End.REVOKED
    assert not stream.beating
    assert reason(theirs) is (End.REVOKED if what == "key" else None)


def test_a_stream_hears_only_for_what_is_still_granted(
    heartbeat: Heartbeat, database: TestDatabase, subscribe: Subscribe, mail: Mailbox, clock: Clock
) -> None:
    stream = subscribe(mail)
    gone = delete(granted_scope).where(granted_scope.c.scope == "agent:p:read")
    change(database, gone)
    clock.now += HEARTBEAT_SECONDS
    heartbeat.run_once()
    assert reason(stream) is None
    assert stream.project_ids == {mail.tenant.projects["q"].id}


def test_the_cost_does_not_grow_with_the_streams(
    heartbeat: Heartbeat, database: TestDatabase, subscribe: Subscribe, tenant: Tenant, clock: Clock
) -> None:
    statements = []

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        statements.append(statement)

    def counted() -> int:
        clock.now += HEARTBEAT_SECONDS
        statements.clear()
        event.listen(database.engine, "before_cursor_execute", note)
        heartbeat.run_once()
        event.remove(database.engine, "before_cursor_execute", note)
        for stream in heartbeat._streams.all():
            stream.beating = False
        return len(statements)

    subscribe(tenant.agent())
    one = counted()
    for _ in range(20):
        subscribe(tenant.agent())
    assert counted() == one


def test_a_stream_ends_with_its_token(
    heartbeat: Heartbeat,
    subscribe: Subscribe,
    streams: Streams[Claims],
    mail: Mailbox,
    clock: Clock,
) -> None:
    stream = subscribe(mail)
    streams.bound(stream, 100)
    clock.now += 99.9
    heartbeat.run_once()
    assert reason(stream) is End.TOKEN_EXPIRED


def test_without_the_database_streams_beat_on_for_a_while(
    heartbeat: Heartbeat,
    database: TestDatabase,
    subscribe: Subscribe,
    mail: Mailbox,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = subscribe(mail)

    def away(work: object) -> None:
        raise Overloaded

    with monkeypatch.context() as patch:
        patch.setattr(database, "run", away)
        for _ in range(MOST_UNCHECKED - 1):
            clock.now += HEARTBEAT_SECONDS
            heartbeat.run_once()
            assert stream.beating
            stream.beating = False
    clock.now += HEARTBEAT_SECONDS
    heartbeat.run_once()
    assert stream.unchecked == 0  # it came back in time
    with monkeypatch.context() as patch:
        patch.setattr(database, "run", away)
        for _ in range(MOST_UNCHECKED):
            stream.beating = False
            clock.now += HEARTBEAT_SECONDS
            heartbeat.run_once()
    assert reason(stream) is End.LIFETIME


def test_a_writer_that_is_stuck_is_cut_off(
    heartbeat: Heartbeat, subscribe: Subscribe, mail: Mailbox, clock: Clock
) -> None:
    stream, stream.line = (made := subscribe(mail)), Wire()
    assert stream is made
    clock.now += HEARTBEAT_SECONDS
    heartbeat.run_once()
    assert stream.beating  # and nobody takes it
    clock.now += HEARTBEAT_SECONDS
    heartbeat.run_once()
    assert not stream.line.hung_up
    clock.now += HEARTBEAT_SECONDS
    heartbeat.run_once()
    assert stream.line.hung_up


def test_a_closed_connection_is_noticed_within_five_passes(
    heartbeat: Heartbeat, subscribe: Subscribe, mail: Mailbox
) -> None:
    wire, stream = Wire(), subscribe(mail)
    stream.line = wire
    wire.gone = True
    for _ in range(5):
        heartbeat.run_once()
    assert wire.hung_up
    assert stream.beating  # so that its writer finds out


def test_many_streams_are_gone_through_in_slices(
    heartbeat: Heartbeat,
    subscribe: Subscribe,
    streams: Streams[Claims],
    mail: Mailbox,
    clock: Clock,
) -> None:
    streams.limit = 2 * FEW
    standing, projects = subscribe(mail).standing, [p.id for p in mail.tenant.projects.values()]
    for number in range(FEW):
        assert streams.open(number.to_bytes(16), projects, standing=standing) is not None
    clock.now += HEARTBEAT_SECONDS
    beats = [heartbeat.run_once()["beats"] for _ in range(SLICES)]
    assert sum(beats) == FEW + 1
    assert max(beats) - min(beats) <= 1
    assert all(stream.beating for stream in streams.all())
