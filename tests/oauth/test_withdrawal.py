"""What is disabled, revoked or withdrawn ends within a second, on every node."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import delete, event, insert, update
from sqlalchemy.sql import Executable

import extensions
from restante.audit.entries import IN_PROCESS
from restante.identity.authority import LOOK_AGAIN_SECONDS
from restante.identity.credentials import add_client_secret
from restante.identity.key_rotation import remove
from restante.identity.recent import STATE_SECONDS
from restante.storage.clock import database_now
from restante.storage.tables.identity import credential, granted_scope, principal, token_key
from tests.oauth.conftest import Server
from tests.oauth.forging import header_of
from tests.support.serving import SECRET_KEY


def change(server: Server, statement: Executable) -> None:
    server.database.run(lambda s: s.connection().execute(statement))
    server.pass_time(STATE_SECONDS)


def prepared(server: Server) -> tuple[object, str]:
    tenant = server.tenant()
    tenant.project("p1")
    bob = tenant.agent("bob", "agent:p1:read", "agent:*:claim")
    token = server.token(bob)
    assert server.call(token).json["scopes"] == ["agent:p1:claim", "agent:p1:read"]
    return bob, token


def test_the_state_is_at_most_half_a_second_old() -> None:
    assert STATE_SECONDS <= 0.5


def test_a_new_token_has_what_was_granted_before_it(server: Server) -> None:
    """What is known of its bearer may be older than the grant, or than the credential it came by."""
    bob, token = prepared(server)
    grant = insert(granted_scope).values(principal_id=bob.id, scope="agent:p1:publish")
    server.database.run(lambda s: s.connection().execute(grant))
    newer = server.token(bob, scope="agent:p1:publish")
    assert server.call(newer).json["scopes"] == ["agent:p1:publish"]
    other = replace(bob, client_secret=server.database.run(lambda s: add_client_secret(s, bob.id)))
    assert server.call(server.token(other)).status_code == 200
    assert server.call(token).status_code == 200


def test_a_disabled_agent(server: Server) -> None:
    """JO-049."""
    bob, token = prepared(server)
    change(server, update(principal).values(status="disabled"))
    assert server.call(token).status_code == 401
    assert server.ask(bob).status_code == 401
    change(server, update(principal).values(status="active"))
    assert server.call(token).status_code == 200


def test_a_removed_agent(server: Server) -> None:
    _, token = prepared(server)
    change(server, delete(principal))
    assert server.call(token).status_code == 401


def test_a_revoked_credential(server: Server) -> None:
    bob, token = prepared(server)
    now = server.database.run(database_now)
    change(server, update(credential).values(revoked_at=now))
    assert server.call(token).status_code == 401
    assert server.ask(bob).status_code == 401


def test_a_withdrawn_grant(server: Server) -> None:
    _, token = prepared(server)
    change(server, delete(granted_scope).where(granted_scope.c.scope == "agent:*:claim"))
    assert server.call(token).json["scopes"] == ["agent:p1:read"]


def test_a_token_gains_nothing_from_later_grants(server: Server) -> None:
    bob, token = prepared(server)
    change(
        server,
        granted_scope.insert().values(principal_id=bob.id, scope="agent:p1:publish"),
    )
    assert server.call(token).json["scopes"] == ["agent:p1:claim", "agent:p1:read"]


def test_a_removed_key(server: Server) -> None:
    """JO-104: removed, its tokens stop at once, known ones too."""
    _, token = prepared(server)
    change(server, delete(token_key))
    assert server.call(token).status_code == 401


def test_what_the_successor_of_a_removed_key_signs_is_good_everywhere(server: Server) -> None:
    """Also where the keys were looked at a moment before."""
    bob, token = prepared(server)
    kid = header_of(token)["kid"]
    server.database.run(lambda s: remove(s, kid, [SECRET_KEY], by=IN_PROCESS))
    server.pass_time(LOOK_AGAIN_SECONDS)
    assert server.call(server.token(bob)).status_code == 200
    assert server.call(token).status_code == 401


def test_a_retired_key_verifies_until_its_time(server: Server) -> None:
    """JO-104: an overlap, then a new key signs."""
    bob, token = prepared(server)
    now = server.database.run(database_now)
    change(
        server,
        update(token_key).values(signs_until=now, verifies_until=now + timedelta(seconds=600)),
    )
    newer = server.token(bob)
    assert len(server.client.get("/oauth/jwks.json").json["keys"]) == 2
    server.pass_time(STATE_SECONDS)
    assert server.call(token).status_code == 200
    assert server.call(newer).status_code == 200


def test_within_the_half_second_nothing_is_asked_again(server: Server) -> None:
    _, token = prepared(server)
    statements: list[str] = []
    with server.app.app_context():
        event.listen(
            extensions.db.engine,
            "before_cursor_execute",
            lambda *args: statements.append(args[2]),
        )
    assert server.call(token).status_code == 200
    assert statements == []
    server.pass_time(STATE_SECONDS)
    assert server.call(token).status_code == 200
    assert 0 < len([s for s in statements if s.startswith("SELECT")]) <= 6
