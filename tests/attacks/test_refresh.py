"""Refresh tokens under attack (JO-065 to JO-073)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from restante.storage.clock import database_now
from restante.storage.tables import metadata
from restante.storage.tables.identity import principal
from restante.storage.tables.logins import refresh_family, refresh_token
from tests.attacks.arena import Attacker, Tenant
from tests.attacks.logins import begin, change_login, log_in, poll, refresh
from tests.attacks.operators import new_operator
from tests.attacks.wire import new_address
from tests.support.waiting import wait_until

ROUNDS = 50


@pytest.fixture
def bob(acme: Tenant) -> Attacker:
    """An agent with grants on project a, whose devices log in."""
    one = acme.agent("agent:a:read", "agent:a:claim", "agent:a:publish")
    one.address = new_address()
    return one


def later(bob: Attacker, seconds: float) -> None:
    """Let all spent tokens have been spent so much earlier."""

    def move(session: Session) -> None:
        connection = session.connection()
        for row in connection.execute(select(refresh_token)).all():
            if row.spent_at is not None:
                earlier = row.spent_at - timedelta(seconds=seconds)
                own = refresh_token.c.token_hash == row.token_hash
                connection.execute(refresh_token.update().where(own).values(spent_at=earlier))

    bob.arena.run(move)


def is_dead(bob: Attacker, *tokens: str) -> bool:
    return all(bob.stats(token).is_invalid_token for token in tokens for _ in range(4))


def test_jo_065_rotation(bob: Attacker) -> None:
    first = log_in(bob)
    second = refresh(bob, first["refresh_token"])
    assert second.status == 200
    assert second.json.keys() == first.keys()
    assert second.json["refresh_token"] != first["refresh_token"]
    assert set(second.json["scope"].split()) <= set(first["scope"].split())
    assert bob.stats(second.json["access_token"]).status == 200
    later(bob, 11)
    assert refresh(bob, first["refresh_token"]).error == "400 invalid_grant"


@pytest.mark.parametrize("reused", [0, 1])
def test_jo_066_a_spent_token_again(bob: Attacker, reused: int) -> None:
    """The first of three, or the second, whose child is used: the login and its tokens are dead."""
    made = [log_in(bob)]
    for _ in range(2):
        made.append(refresh(bob, made[-1]["refresh_token"]).json)
    if reused:
        made.append(refresh(bob, made[-1]["refresh_token"]).json)
    assert refresh(bob, made[reused]["refresh_token"]).error == "400 invalid_grant"
    assert refresh(bob, made[-1]["refresh_token"]).error == "400 invalid_grant"
    tokens = [one["access_token"] for one in made]
    wait_until(lambda: is_dead(bob, *tokens), "the tokens of a stolen login to end")
    (alarm,) = bob.arena.audited("refresh.reuse", bob.id)
    assert (alarm.outcome, alarm.address) == ("refused", bob.address)
    assert alarm.request_id
    assert not any(one["refresh_token"] in str(alarm) for one in made)
    # its secret and its other logins live on
    assert bob.ask().status == 200
    assert refresh(bob, log_in(bob)["refresh_token"]).status == 200


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


def test_jo_067_two_uses_at_one_moment(bob: Attacker, pool: ThreadPoolExecutor) -> None:
    """Both get the one child: within ten seconds the newest spent token is worth it again."""
    token = log_in(bob)["refresh_token"]
    for _ in range(ROUNDS):
        both = [pool.submit(refresh, bob, token) for _ in range(2)]
        answers = [one.result() for one in both]
        assert [answer.status for answer in answers] == [200, 200]
        (token,) = {answer.json["refresh_token"] for answer in answers}
    assert bob.arena.audited("refresh.reuse", bob.id) == []
    living = select(refresh_token.c.token_hash).join(
        refresh_family, refresh_family.c.family_id == refresh_token.c.family_id
    )
    mine = refresh_family.c.principal_id == bob.raw, refresh_token.c.spent_at.is_(None)
    assert len(bob.arena.run(lambda s: s.connection().execute(living.where(*mine)).all())) == 1


def test_jo_068_the_token_of_another_client(bob: Attacker, acme: Tenant) -> None:
    eve = acme.agent()
    token = log_in(bob)["refresh_token"]
    assert refresh(bob, token, eve.id).error == "400 invalid_grant"
    (alarm,) = bob.arena.audited("refresh.reuse", bob.id)
    assert (alarm.actor_kind, alarm.actor_id) == ("client", eve.id)
    assert refresh(bob, token).error == "400 invalid_grant"
    # one that proves who it is has it no better
    token = log_in(bob)["refresh_token"]
    form = {"grant_type": "refresh_token", "refresh_token": token}
    assert bob.wire.form("/oauth/token", eve.basic, **form).error == "400 invalid_grant"


def test_jo_069_more_scopes(bob: Attacker) -> None:
    token = log_in(bob, scope="agent:a:read")["refresh_token"]
    for scope in (
        *("agent:a:read agent:a:claim", "agent:a:publish", "agent:*:read", "agent:b:read"),
        *("agent:a:read  agent:a:read", "tenant:events:publish", "\x00"),
    ):
        assert refresh(bob, token, scope=scope).error == "400 invalid_scope"
    assert refresh(bob, token).json["scope"] == "agent:a:read"


def test_jo_070_narrow_and_wide_again(bob: Attacker) -> None:
    token = log_in(bob)["refresh_token"]
    narrow = refresh(bob, token, scope="agent:a:read").json
    assert narrow["scope"] == "agent:a:read"
    assert (
        bob.call(
            "POST", "A/inbox/claim", {}, {"Authorization": f"Bearer {narrow['access_token']}"}
        ).problem
        == "403 insufficient-scope"
    )
    assert refresh(bob, narrow["refresh_token"]).json["scope"] == "agent:a:claim agent:a:read"


def test_jo_071_the_age_of_a_login(bob: Attacker) -> None:
    token = refresh(bob, log_in(bob)["refresh_token"]).json["refresh_token"]
    now = bob.arena.run(database_now)
    change_login(bob, expires_at=now - timedelta(seconds=1))
    assert refresh(bob, token).error == "400 invalid_grant"
    assert bob.arena.audited("refresh.reuse", bob.id) == []
    change_login(bob, expires_at=now + timedelta(days=1))
    assert refresh(bob, token).status == 200


def test_jo_072_a_disabled_agent_refreshes(bob: Attacker) -> None:
    token = log_in(bob)["refresh_token"]
    own = update(principal).where(principal.c.principal_id == bob.raw)
    bob.arena.change(own.values(status="disabled"))
    assert refresh(bob, token).error == "400 invalid_grant"
    assert refresh(bob, token, scope="agent:b:read").error == "400 invalid_grant"
    bob.arena.change(own.values(status="active"))
    assert refresh(bob, token).status == 200


def test_jo_073_what_a_dump_gives(bob: Attacker, acme: Tenant) -> None:
    """No secret, code or token stands in any row of any table."""
    begun = begin(bob)
    first = log_in(bob)
    second = refresh(bob, first["refresh_token"]).json
    key = bob.signed_in().call("POST", "A/signing-keys", {}).json
    secrets = [
        *(begun["device_code"], begun["user_code"], begun["user_code"].replace("-", "")),
        *(first["refresh_token"], second["refresh_token"], second["access_token"]),
        *(bob.secret, key["secret"]),
    ]
    for table in metadata.sorted_tables:
        rows = bob.arena.run(lambda s, t=table: s.connection().execute(select(t)).all())
        dump = repr([tuple(row) for row in rows])
        assert not [secret for secret in secrets if secret in dump], table.name
    assert new_operator(acme).approve(begun["user_code"]).status == 200
    assert poll(bob, begun["device_code"]).status == 200
