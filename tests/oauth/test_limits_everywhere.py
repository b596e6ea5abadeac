"""Failed authentications are limited over all nodes: two applications here, on one database.

What was wrong is told by no answer, and by no time either: the same work is done for what is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event

from app import create_app
from config import Settings
from restante.identity import assertions, credentials
from restante.identity.assertions import TYPE
from restante.identity.devices import MOST_WRONG_CODES
from restante.identity.failed_attempts import MOST_FAILURES
from restante.identity.sign_in_links import Purpose, make_link
from tests.console.browsing import Browser, device, operator_of, signed_in
from tests.http.world import World, open_world, unknown_id, verbs
from tests.oauth.forging import encode
from tests.support.databases import TestDatabase
from tests.support.serving import SECRET_KEY


@pytest.fixture
def worlds(database: TestDatabase) -> Iterator[tuple[World, World]]:
    """Two applications, as on two hosts."""
    with open_world(database.url, {}) as first:
        app = create_app(Settings(database_url=database.url, secret_key=SECRET_KEY))
        yield first, World(app, app.test_client(), first.tenants)
        app.extensions["restante"].database.engine.dispose()


def proves(world: World, client_id: str, secret: str, address: str) -> Any:
    """The answer to a token request."""
    return world.client.post(
        "/oauth/token",
        data={"grant_type": "client_credentials"},
        auth=(client_id, secret),
        environ_base={"REMOTE_ADDR": address},
    )


def test_a_client_is_guarded_by_all(worlds: tuple[World, World]) -> None:
    """Whoever guesses goes from node to node and from address to address in vain."""
    alice = worlds[0].agent("acme", "alice", verbs("main"))
    bob = worlds[0].agent("acme", "bob", verbs("main"))
    for number in range(MOST_FAILURES):
        answer = proves(worlds[number % 2], alice.id, "wrong", f"192.0.2.{number}")
        assert answer.status_code == 401
    for world in worlds:
        for secret in ("wrong", alice.secret):
            limited = proves(world, alice.id, secret, "198.51.100.1")
            assert limited.status_code == 429
            assert 1 <= int(limited.headers["Retry-After"]) <= 62
        assert proves(world, bob.id, bob.secret, "198.51.100.1").status_code == 200
    for world in worlds:
        world.pass_time(61)
        assert proves(world, alice.id, alice.secret, "198.51.100.1").status_code == 200


@pytest.mark.parametrize("address", ["192.0.2.{}", "2001:db8::{}"])
def test_an_address_is_guarded_against_by_all(worlds: tuple[World, World], address: str) -> None:
    """Whatever client it names; of IPv6, whatever address of its network it takes."""
    alice = worlds[0].agent("acme", "alice", verbs("main"))
    of_one_network = address.startswith("2001")
    for number in range(MOST_FAILURES):
        there = address.format(number if of_one_network else 7)
        assert proves(worlds[number % 2], unknown_id("agt"), "x", there).status_code == 401
    for world in worlds:
        there = address.format(99 if of_one_network else 7)
        assert proves(world, alice.id, alice.secret, there).status_code == 429
        assert proves(world, alice.id, alice.secret, "198.51.100.1").status_code == 200


def test_user_codes_are_guarded_by_all(worlds: tuple[World, World]) -> None:
    """An operator who guesses on one node and then on the other, and one who takes another address."""
    first, second = worlds
    who = operator_of(first)
    there, elsewhere = signed_in(first, who), signed_in(second, who)
    waiting = device(first, first.agent("acme", "a", verbs("main")).id)
    for number in range(MOST_WRONG_CODES):
        browser = (there, elsewhere)[number % 2]
        browser.address = f"192.0.2.{number}"
        browser.get("/device")
        assert browser.send("/device", user_code="BCDFG-HJKLM").status_code == 404
    for browser in (there, elsewhere):
        browser.address = "198.51.100.1"
        browser.get("/device")
        assert browser.send("/device", user_code=waiting.user_code).status_code == 429


def test_sign_ins_are_guarded_by_all(worlds: tuple[World, World]) -> None:
    who = operator_of(worlds[0])
    good = worlds[0].house.database.run(lambda s: make_link(s, who, Purpose.SIGN_IN))
    statuses = []
    for number in range(MOST_FAILURES + 2):
        browser = Browser(worlds[number % 2], f"198.51.100.{2 + number}")
        browser.get(f"/sign-in/{good}")
        browser.address = "192.0.2.9"
        token = browser.page.one("input", name="csrf").attributes["value"]
        statuses.append(browser.post(f"/sign-in/rstl_{number}", {"csrf": token}).status_code)
    assert statuses == [statuses[0]] * MOST_FAILURES + [429, 429]
    assert statuses[0] in (404, 410)
    for world in worlds:
        browser = Browser(world, "198.51.100.1")
        assert browser.get(f"/sign-in/{good}").status_code == 200


def statements(world: World, work: Callable[[], Any]) -> tuple[list[str], Any]:
    """What is asked of the database by it, and what it answers."""
    seen: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        seen.append(statement)

    engine = world.house.database.engine
    event.listen(engine, "before_cursor_execute", note)
    try:
        return seen, work()
    finally:
        event.remove(engine, "before_cursor_execute", note)


def bent(assertion_alg: str, sub: str) -> str:
    """An assertion with a signature of nobody's."""
    head = f'{{"alg":"{assertion_alg}","typ":"JWT"}}'.encode()
    body = f'{{"iss":"{sub}","sub":"{sub}","aud":"x","jti":"j","exp":9999999999}}'.encode()
    return f"{encode(head)}.{encode(body)}.{encode(bytes(64 if assertion_alg != 'PS512' else 256))}"


@pytest.mark.parametrize("way", ["secret", "EdDSA", "ES256", "PS512"])
def test_the_same_is_done_for_clients_that_are_not_there(
    worlds: tuple[World, World], way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hash is compared, a signature verified, and as much is asked of the database."""
    world = worlds[0]
    alice = world.agent("acme", "alice", verbs("main"))
    work: list[str] = []
    for module, name in (
        (credentials, "_hashed"),
        (credentials.hmac, "compare_digest"),
        (assertions, "verify_signature"),
    ):
        real = getattr(module, name)
        monkeypatch.setattr(
            module, name, lambda *a, real=real, name=name: work.append(name) or real(*a)
        )
    told = []
    for number, client_id in enumerate((alice.id, unknown_id("agt"), "nobody")):
        # counted otherwise at first
        for _ in range(2):
            work.clear()
            asked, answer = statements(world, lambda c=client_id, n=number: ask(world, way, c, n))
        told.append((len(asked), answer.status_code, answer.get_data(), "_hashed" in work))
        assert ("compare_digest" if way == "secret" else "verify_signature") in work, client_id
    assert told == [told[0]] * 3
    assert told[0][1] == 401


def ask(world: World, way: str, client_id: str, number: int) -> Any:
    """A token request with what proves nothing."""
    address = f"192.0.2.{number}"
    if way == "secret":
        return proves(world, client_id, "wrong", address)
    form = {
        "grant_type": "client_credentials",
        "client_assertion_type": TYPE,
        "client_assertion": bent(way, client_id),
    }
    return world.client.post("/oauth/token", data=form, environ_base={"REMOTE_ADDR": address})
