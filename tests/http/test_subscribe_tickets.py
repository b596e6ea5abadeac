"""Tickets for streams, on each database: good once, for their agent, as long as their token."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest
from sqlalchemy import Executable, delete, func, insert, select, update
from werkzeug.test import TestResponse

from restante.storage.tables.identity import credential, granted_scope, principal, token_key
from restante.storage.tables.logins import revoked_token
from restante.storage.tables.signals import subscribe_ticket
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import TestDatabase
from workers.pruner import Pruner


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


def ticket_of(caller: Caller) -> str:
    made = caller.post("A/subscribe-tickets")
    assert made.status_code == 201, made.text
    return str(made.json["ticket"])


def open_stream(caller: Caller, query: str, **given: Any) -> TestResponse:
    """What the page of a browser is answered: it sends no token."""
    return caller.client.get(caller.address(f"A/subscribe?{query}"), **given)


def kept(world: World) -> int:
    count = select(func.count()).select_from(subscribe_ticket)
    return int(world.house.database.run(lambda s: s.connection().execute(count).scalar_one()))


def told(answer: TestResponse) -> dict[str, Any]:
    """A refusal, without what differs from request to request."""
    return {
        **{k: v for k, v in answer.json.items() if k not in ("request_id", "instance")},
        "challenge": answer.headers.get("WWW-Authenticate"),
    }


def test_a_ticket_opens_one_stream(world: World, alice: Caller) -> None:
    made = alice.post("A/subscribe-tickets", {})
    assert made.status_code == 201
    assert made.json.keys() == {"ticket", "expires_in_seconds"}
    assert made.json["expires_in_seconds"] == 30
    assert made.headers["Cache-Control"] == "no-store"
    ticket = made.json["ticket"]
    stream = open_stream(alice, f"ticket={ticket}")
    assert (stream.status_code, stream.mimetype) == (200, "text/event-stream")
    assert b"event: ready" in next(iter(stream.response))
    assert len(world.house.streams) == 1
    again = open_stream(alice, f"ticket={ticket}")
    assert (again.status_code, again.json["type"]) == (401, "/problems/unauthenticated")
    assert kept(world) == 0
    stream.close()


def test_only_its_hash_is_kept(world: World, alice: Caller) -> None:
    ticket = ticket_of(alice)
    rows = world.house.database.run(
        lambda s: s.connection().execute(select(subscribe_ticket)).all()
    )
    assert len(rows) == 1
    assert ticket not in repr(rows)
    assert ticket.removeprefix("rstt_").encode() not in rows[0].ticket_hash


def test_every_ticket_that_does_not_hold_is_refused_alike(world: World, alice: Caller) -> None:
    world.tenant("rival", "main")
    rival, bob = (
        world.agent("rival", "alice", verbs("main")),
        world.agent("acme", "bob", verbs("main")),
    )
    spent = ticket_of(alice)
    open_stream(alice, f"ticket={spent}").close()
    over = ticket_of(alice)
    world.pass_time(31)
    theirs, neighbours = ticket_of(rival), ticket_of(bob)
    malformed = [
        "",
        "x",
        "rstt_",
        "%00",
        "%C3%A9",
        "a" * 3000,
        theirs[:-1],
        theirs + "A",
        alice.token,
    ]
    bodies = [
        told(open_stream(alice, f"ticket={ticket}"))
        for ticket in (spent, over, theirs, neighbours, *malformed)
    ]
    assert bodies[0]["status"] == 401
    assert all(body == bodies[0] for body in bodies)
    # nor is one at an address that is nobody's; and none of this spent anybody's
    nobody = world.client.get(f"/api/v1/agents/agt_nonsense/subscribe?ticket={theirs}")
    assert told(nobody) == bodies[0]
    for caller, ticket in ((rival, theirs), (bob, neighbours)):
        stream = open_stream(caller, f"ticket={ticket}")
        assert stream.status_code == 200
        stream.close()


def test_a_ticket_and_a_token_are_one_too_many(world: World, alice: Caller) -> None:
    ticket = ticket_of(alice)
    for answer in (
        alice.get(f"A/subscribe?ticket={ticket}"),
        alice.get("A/subscribe?ticket=nonsense"),
        open_stream(alice, f"ticket={ticket}&access_token={alice.token}"),
        open_stream(alice, f"ticket={ticket}", headers={"Authorization": "Basic YTpi"}),
    ):
        assert (answer.status_code, answer.json["type"]) == (400, "/problems/ambiguous-credentials")
    assert kept(world) == 1


def test_a_token_is_never_taken_from_the_query(alice: Caller) -> None:
    for name in ("access_token", "token", "bearer"):
        assert open_stream(alice, f"{name}={alice.token}").status_code == 401


def test_what_comes_to_nothing_spends_no_ticket(world: World, alice: Caller) -> None:
    ticket = ticket_of(alice)
    assert open_stream(alice, f"ticket={ticket}&after_cursor=x").status_code == 422
    assert open_stream(alice, f"ticket={ticket}&ticket={ticket}").status_code == 422
    head = world.client.head(alice.address(f"A/subscribe?ticket={ticket}"))
    assert (head.status_code, head.mimetype) == (200, "text/event-stream")
    world.house.streams.limit = 0
    assert open_stream(alice, f"ticket={ticket}").status_code == 503
    world.house.streams.limit = 10
    stream = open_stream(alice, f"ticket={ticket}&after_cursor=0")
    assert stream.status_code == 200
    stream.close()
    assert len(world.house.streams) == 0


def test_of_two_at_once_one_is_let_in(world: World, alice: Caller) -> None:
    def subscribe(ticket: str) -> int:
        answer = world.app.test_client().get(alice.address(f"A/subscribe?ticket={ticket}"))
        answer.close()
        return answer.status_code

    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            statuses = sorted(pool.map(subscribe, [ticket_of(alice)] * 4))
            assert statuses == [200, 401, 401, 401]
    assert len(world.house.streams) == 0


def withdraw(world: World, statement: Executable) -> None:
    """Change rows, and have what is known of them looked at again."""
    world.house.database.run(lambda s: s.connection().execute(statement))
    world.house.authority._monotonic = lambda: time.monotonic() + 1


@pytest.mark.parametrize("what", ["disabled", "credential", "token", "grant", "key"])
def test_a_ticket_is_no_better_than_its_token(world: World, alice: Caller, what: str) -> None:
    ticket = ticket_of(alice)
    claims = world.house.authority.claims(alice.token)
    now = datetime(2030, 1, 1)
    statement: dict[str, Executable] = {
        "disabled": update(principal).values(status="disabled"),
        "credential": update(credential).values(revoked_at=now),
        "token": insert(revoked_token).values(
            principal_id=claims.principal_id, token_id=claims.token_id, expires_at=now
        ),
        "grant": delete(granted_scope),
        "key": delete(token_key),
    }
    withdraw(world, statement[what])
    answer = open_stream(alice, f"ticket={ticket}")
    assert answer.status_code == (403 if what == "grant" else 401)
    assert len(world.house.streams) == 0


def test_a_token_that_may_not_read_gets_no_ticket(world: World, alice: Caller) -> None:
    narrow = world.narrowed(alice, verbs("main", "claim"))
    assert narrow.post("A/subscribe-tickets").status_code == 403


def test_the_stream_ends_with_the_token_of_its_ticket(world: World, alice: Caller) -> None:
    stream = open_stream(alice, f"ticket={ticket_of(alice)}")
    (opened,) = world.house.streams.all()
    token = world.house.authority.claims(alice.token)
    assert opened.standing == token
    now = world.house.streams.clock()
    assert opened.ends_by.value == "token_expired"
    assert 590 < opened.ends_at - now < 600
    stream.close()


def test_agents_alone_get_tickets_and_for_their_own_inbox(
    world: World, alice: Caller, bob: Caller, ci: Caller
) -> None:
    for caller in (bob, ci):
        answer = caller.post(f"/api/v1/agents/{alice.id}/subscribe-tickets")
        assert (answer.status_code, answer.json["type"]) == (404, "/problems/not-found")
    keyed = alice.post("A/subscribe-tickets", headers={"Idempotency-Key": "once"})
    assert keyed.status_code == 422
    assert keyed.json["errors"][0]["pointer"] == "Idempotency-Key"
    assert kept(world) == 0


def test_tickets_that_are_over_are_deleted(world: World, alice: Caller) -> None:
    ticket_of(alice)
    assert Pruner(world.house.database).run_once()["subscribe_ticket"] == 0
    world.pass_time(31)
    assert Pruner(world.house.database).run_once()["subscribe_ticket"] == 1
    assert kept(world) == 0
