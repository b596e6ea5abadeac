"""Logins by device code, their refresh tokens and revoked tokens, as verbs of the engine."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from restante.errors import RateLimited
from restante.identity.credentials import Client
from restante.identity.device_logins import ANY_AGENT, LoggedIn, Poll, start
from restante.identity.devices import deny, look_up
from restante.identity.logins import FAMILY_LIFETIME
from restante.identity.principal import PrincipalKind
from restante.identity.recent import STATE_SECONDS
from restante.identity.requested_scopes import InvalidScope
from restante.identity.standing import may_read
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.identity import granted_scope, principal
from restante.storage.tables.logins import refresh_token, revoked_token
from tests.oauth.logging_in import Login, Operator


def test_a_device_waits_is_approved_and_gets_its_tokens_once(login: Login) -> None:
    """JO-075, JO-078, JO-079, JO-083."""
    started = login.start()
    assert login.poll(started.device_code) is Poll.PENDING
    assert login.approve(started.user_code.lower().replace("-", " "))
    login.pass_time(6)
    assert login.poll(started.device_code, client=ANY_AGENT) is Poll.INVALID
    found = login.poll(started.device_code)
    assert isinstance(found, LoggedIn)
    assert sorted(map(str, found.scopes)) == ["agent:p1:claim", "agent:p1:read"]
    assert login.poll(started.device_code) is Poll.INVALID
    assert login.poll("rstd_nothing") is Poll.INVALID
    assert login.audited("device.approve") == login.audited("token.issue") == 1


def test_polling_too_fast_slows_down_for_good(login: Login) -> None:
    """JO-074."""
    code = login.start().device_code
    assert login.poll(code) is Poll.PENDING
    for seconds, heard in ((1, Poll.SLOW_DOWN), (6, Poll.SLOW_DOWN), (16, Poll.PENDING)):
        login.pass_time(seconds)
        assert login.poll(code) is heard


def test_denied_and_over(login: Login) -> None:
    """JO-076, JO-077."""
    denied, over = login.start(), login.start()
    assert login.run(lambda s: deny(s, login.operator, user_code=denied.user_code))
    assert login.poll(denied.device_code) is Poll.DENIED
    assert login.poll(denied.device_code) is Poll.DENIED
    login.pass_time(601)
    assert login.poll(over.device_code) is Poll.EXPIRED
    assert login.approve(over.user_code) is None


def test_operators_of_other_tenants_and_guessers_find_nothing(login: Login) -> None:
    """JO-080, JO-082."""
    started = login.start()
    stranger = Operator(new_id(), login.server.tenant("other").id)
    assert login.approve(started.user_code, operator=stranger) is None
    for _ in range(9):
        assert login.run(lambda s: look_up(s, "BCDFG-HJKLM", operator=stranger)) is None
    with pytest.raises(RateLimited):
        login.run(lambda s: look_up(s, "BCDFG-HJKLM", operator=stranger))
    assert login.run(lambda s: look_up(s, started.user_code, operator=login.operator))


def test_the_operator_picks_the_agent_of_a_client_that_is_none(login: Login) -> None:
    started = login.start(ANY_AGENT)
    assert login.approve(started.user_code, principal_id=login.bob.id)
    found = login.poll(started.device_code, client=ANY_AGENT)
    assert isinstance(found, LoggedIn)
    assert found.principal_id == login.bob.id
    assert login.run(lambda s: start(s, "agt_" + "0" * 32, asked=None)) is None


@pytest.mark.parametrize("asked", ["agent:*:read", "tenant:audit:read", "x", "agent:p1:read  x"])
def test_a_device_asks_for_no_star_and_nothing_of_a_service(login: Login, asked: str) -> None:
    with pytest.raises(InvalidScope):
        login.start(asked=asked)


def test_more_than_granted_is_not_approved(login: Login) -> None:
    started = login.start(asked="agent:p1:memory")
    with pytest.raises(InvalidScope):
        login.approve(started.user_code)
    assert login.poll(started.device_code) is Poll.PENDING


def test_a_spent_token_is_answered_with_the_same_child_for_ten_seconds(login: Login) -> None:
    """JO-065, JO-067."""
    first = login.log_in().refresh_token
    second = login.child(first)
    assert second != first
    login.pass_time(9)
    assert login.child(first) == second
    third = login.child(second)
    assert third not in (first, second)
    assert login.child(second) == third


@pytest.mark.parametrize("seconds", [11, 0])
def test_a_stolen_token_ends_its_family(login: Login, seconds: int) -> None:
    """JO-066: out of time, or with a child that was used."""
    found = login.log_in()
    second = login.child(found.refresh_token)
    last = second if seconds else login.child(second)
    login.pass_time(seconds)
    client = Client(login.bob.id, login.tenant.id, PrincipalKind.AGENT, found.family_id)
    access = login.run(lambda s: login.server.house.token_keys.issue(s, client, found.scopes))
    assert login.server.call(access.access_token).status_code == 200
    assert login.refresh(found.refresh_token) is None
    assert login.audited("refresh.reuse") == 1
    assert login.refresh(last) is None
    login.server.pass_time(STATE_SECONDS)
    assert login.server.call(access.access_token).status_code == 401


def test_a_token_of_another_client_is_a_stolen_one(login: Login) -> None:
    """JO-068."""
    first = login.log_in().refresh_token
    assert login.refresh(first, client=ANY_AGENT) is None
    assert login.audited("refresh.reuse") == 1
    assert login.refresh(first) is None


def test_scopes_never_widen_and_come_back_after_narrowing(login: Login) -> None:
    """JO-069, JO-070."""
    first = login.log_in("agent:p1:read agent:p1:claim").refresh_token
    with pytest.raises(InvalidScope):
        login.refresh(first, "agent:p1:read agent:p1:publish")
    narrow = login.refresh(first, "agent:p1:read")
    assert narrow
    assert set(map(str, narrow.scopes)) == {"agent:p1:read"}
    wide = login.refresh(narrow.refresh_token)
    assert wide
    assert set(map(str, wide.scopes)) == {"agent:p1:read", "agent:p1:claim"}


def test_shrunk_grants_give_what_is_left_and_then_nothing(login: Login) -> None:
    first = login.log_in().refresh_token
    mine = granted_scope.c.principal_id == login.bob.id
    one = granted_scope.delete().where(mine, granted_scope.c.scope == "agent:p1:claim")
    login.run(lambda s: s.connection().execute(one))
    with pytest.raises(InvalidScope):  # and nothing is spent: the login itself still holds
        login.refresh(first, "agent:p1:claim")
    left = login.refresh(first)
    assert left
    assert set(map(str, left.scopes)) == {"agent:p1:read"}
    login.run(lambda s: s.connection().execute(granted_scope.delete().where(mine)))
    assert login.refresh(left.refresh_token) is None
    assert login.audited("token.refuse") == 1


def test_a_family_ends_with_its_time_and_its_agent(login: Login) -> None:
    """JO-071, JO-072, JO-073."""
    first = login.log_in().refresh_token
    kept = login.run(lambda s: s.connection().execute(select(refresh_token)).all())
    assert first not in str(kept)
    disabled = principal.update().where(principal.c.principal_id == login.bob.id)
    login.run(lambda s: s.connection().execute(disabled.values(status="disabled")))
    assert login.refresh(first) is None
    login.run(lambda s: s.connection().execute(disabled.values(status="active")))
    token = login.child(first)
    for _ in range(4):
        login.pass_time(20 * 86_400)
        token = login.child(token)
    login.pass_time(FAMILY_LIFETIME.total_seconds() - 80 * 86_400)
    assert login.refresh(token) is None
    assert login.audited("refresh.reuse") == 0


def test_a_revoked_access_token_ends_alone(login: Login) -> None:
    """JO-050: for requests and for open streams."""
    server = login.server
    one, other = server.token(login.bob), server.token(login.bob)
    claims = [server.house.authority.claims(token) for token in (one, other)]
    row = insert(revoked_token).values(
        principal_id=login.bob.id,
        token_id=claims[0].token_id,
        expires_at=login.run(database_now) + timedelta(seconds=600),
    )
    login.run(lambda s: s.connection().execute(row))
    server.pass_time(STATE_SECONDS)
    assert [server.call(token).status_code for token in (one, other)] == [401, 200]
    readable = login.run(lambda s: may_read(s, claims))
    assert [bool(readable[c]) for c in claims] == [False, True]
