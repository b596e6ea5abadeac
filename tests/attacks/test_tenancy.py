"""Other people's inboxes, and agents that are no more (JO-043 to JO-051)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select, update

from restante.identity.operators import invite
from restante.identity.roles import Role
from restante.identity.sessions import Method, begin_session
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.identity import principal
from restante.storage.tables.operators import operator
from tests.attacks.arena import Attacker, Tenant, unknown_id
from tests.attacks.wire import bearer
from tests.oauth.forging import payload_of
from tests.support.waiting import wait_until

ALL = ("agent:a:read", "agent:a:claim", "agent:a:publish")
SCOPES = " ".join(ALL)
ON_EVERY_WORKER = 12


@pytest.fixture
def rival(alice: Attacker) -> Attacker:
    """An agent of another tenant, with one event that waits."""
    one = alice.arena.tenant().agent(*ALL).signed_in(SCOPES)
    assert one.publish(one).status == 201
    return one


@pytest.fixture
def bob(acme: Tenant) -> Attacker:
    """An agent of acme that may publish, too."""
    return acme.agent(*ALL).signed_in(SCOPES)


def test_jo_043_an_inbox_of_another_tenant(alice: Attacker, rival: Attacker) -> None:
    """By all methods it is answered like one that nobody has, and stays as it is."""
    event = rival.call("GET", "A/inbox").json["events"][0]["event_id"]
    absent = unknown_id("agt")
    calls: list[tuple[str, str, Any]] = [
        ("GET", "inbox", None),
        ("HEAD", "inbox", None),
        ("GET", "inbox/stats", None),
        ("GET", "inbox/claims?consumer=x", None),
        ("GET", "subscribe", None),
        ("GET", "signing-keys", None),
        ("POST", "signing-keys", {}),
        ("POST", "inbox/claim", {"limit": 1}),
        ("POST", "inbox/settle", {"ack": [{"event_id": event, "claim_generation": 1}]}),
        ("POST", "inbox/commit", {"through_cursor": 1}),
        ("GET", f"inbox/{event}", None),
        ("POST", f"inbox/{event}/ack", {"claim_generation": 1}),
        ("POST", f"inbox/{event}/renew", {"claim_generation": 1}),
        ("DELETE", "inbox", None),
        ("PUT", "inbox/stats", {}),
    ]
    for method, path, body in calls:
        foreign, nobody = (
            alice.call(method, f"/api/v1/agents/{one}/{path}", body) for one in (rival.id, absent)
        )
        assert foreign.status in (404, 405), (path, foreign.body)
        if method == "HEAD":
            assert foreign.status == nobody.status
            continue
        assert foreign.without(rival.id) == nobody.without(absent), path
        assert sorted(foreign.headers.keys()) == sorted(nobody.headers.keys())
    stats = rival.stats().json
    assert (stats["pending"], stats["claimed"], stats["head"]) == (1, 0, 1)


def test_jo_044_an_event_of_another_inbox_under_ones_own(alice: Attacker, rival: Attacker) -> None:
    (event,) = rival.call("POST", "A/inbox/claim", {}).json["events"]
    body = {"claim_generation": 1}
    for verb, more in (("ack", {}), ("release", {}), ("reject", {"reason": "x"}), ("renew", {})):
        foreign, nobody = (
            alice.call("POST", f"A/inbox/{one}/{verb}", {**body, **more})
            for one in (event["event_id"], unknown_id("evt"))
        )
        assert foreign.problem == nobody.problem == "404 not-found"
        assert foreign.json["detail"] == nobody.json["detail"]
    assert alice.call("GET", f"A/inbox/{event['event_id']}").problem == "404 not-found"
    path = f"A/inbox/{event['event_id']}/ack"
    assert rival.call("POST", path, body).json["status"] == "completed"


def test_jo_045_ids_of_another_tenant_in_a_body(bob: Attacker, rival: Attacker) -> None:
    absent = unknown_id("agt")
    for member in ("recipients", "reply_to"):
        answers = []
        for one in (rival.id, absent):
            given: dict[str, Any] = {member: [one] if member == "recipients" else one}
            answers.append(bob.publish(bob, **given))
        foreign, nobody = answers
        assert foreign.status in (404, 422)
        assert foreign.without(rival.id) == nobody.without(absent), member
    event = rival.call("GET", "A/inbox").json["events"][0]["event_id"]
    for member in ("corrects", "causation_id"):
        foreign, nobody = (bob.publish(bob, **{member: one}) for one in (event, unknown_id("evt")))
        assert foreign.status == nobody.status, member
    listed = bob.call("GET", f"/api/v1/events?recipient={rival.id}")
    assert listed.json == bob.call("GET", f"/api/v1/events?recipient={absent}").json
    assert rival.stats().json["pending"] == 1


def test_jo_046_the_lease_of_another(bob: Attacker, acme: Tenant) -> None:
    """An agent's own processes are told apart by the generation, other agents by the address."""
    assert bob.publish(bob).status == 201
    (first,) = bob.call("POST", "A/inbox/claim", {"consumer": "one"}).json["events"]
    path = f"/api/v1/agents/{bob.id}/inbox/{first['event_id']}"
    eve = acme.agent(*ALL).signed_in(SCOPES)
    assert eve.call("POST", f"{path}/ack", {"claim_generation": 1}).problem == "404 not-found"
    assert bob.call("POST", f"{path}/ack", {}).problem == "422 validation-error"
    for generation in (2, 99):
        stale = bob.call("POST", f"{path}/ack", {"claim_generation": generation})
        assert stale.problem == "409 stale-claim"
    assert bob.call("POST", f"{path}/release", {"claim_generation": 1}).status == 200
    (second,) = bob.call("POST", "A/inbox/claim", {"consumer": "two"}).json["events"]
    assert second["claim_generation"] == 2
    late = bob.call("POST", f"{path}/ack", {"claim_generation": 1})
    assert (late.problem, late.json["reason"]) == ("409 stale-claim", "reclaimed")
    done = bob.call("POST", f"{path}/ack", {"claim_generation": 2})
    assert done.json["status"] == "completed"


def test_jo_047_an_idempotency_key_of_another_tenant(bob: Attacker, rival: Attacker) -> None:
    key = {"Idempotency-Key": unknown_id("k")}
    made = []
    for one in (rival, bob):
        fields = [("Authorization", f"Bearer {one.token}"), *key.items()]
        body = {"recipients": [one.id], "project": "a", "type": "t", "payload": {}}
        answer = one.call("POST", "/api/v1/events", body, fields=fields)
        assert answer.status == 201
        assert "Idempotency-Replayed" not in answer.headers
        made.append(answer.json["events"][0]["event_id"])
    assert made[0] != made[1]


def test_jo_048_a_page_token_of_another_tenant(bob: Attacker, rival: Attacker) -> None:
    tokens = []
    for one in (rival, bob):
        for _ in range(3):
            assert one.publish(one, correlation_id="c").status == 201
        page = one.call("GET", "/api/v1/events?correlation_id=c&limit=1").json
        tokens.append(page["next_page_token"])
    foreign, own = (
        bob.call("GET", f"/api/v1/events?correlation_id=c&limit=1&page_token={token}")
        for token in tokens
    )
    assert foreign.problem == "400 page-token-invalid"
    assert own.status == 200
    other = bob.call("GET", f"/api/v1/events?correlation_id=d&limit=1&page_token={tokens[1]}")
    assert other.problem == "400 page-token-invalid"


def status_of(arena: Any, who: Attacker, status: str) -> None:
    mine = update(principal).where(principal.c.principal_id == who.raw)
    arena.change(mine.values(status=status))


def test_jo_049_a_disabled_agent(alice: Attacker, acme: Tenant) -> None:
    """Its token ends on every worker within a second; nothing new is to be had."""
    service = acme.service("tenant:agents:read").signed_in()
    assert alice.stats().status == 200
    status_of(alice.arena, alice, "disabled")
    wait_until(
        lambda: all(alice.stats().is_invalid_token for _ in range(ON_EVERY_WORKER)),
        "every worker to refuse a disabled agent",
    )
    assert alice.ask().error == "401 invalid_client"
    asked = service.wire.form("/oauth/introspect", service.basic, token=alice.token)
    assert asked.json == {"active": False}
    own = alice.wire.form("/oauth/introspect", alice.basic, token=alice.token)
    assert own.error == "401 invalid_client"
    status_of(alice.arena, alice, "active")
    wait_until(
        lambda: all(alice.stats().status == 200 for _ in range(ON_EVERY_WORKER)),
        "every worker to take it again",
    )


def test_jo_050_a_revoked_access_token(alice: Attacker) -> None:
    other = alice.signed_in()
    given_back = alice.wire.form("/oauth/revoke", alice.basic, token=alice.token)
    assert given_back.status == 200
    wait_until(
        lambda: all(alice.stats().is_invalid_token for _ in range(ON_EVERY_WORKER)),
        "every worker to refuse a revoked token",
    )
    assert other.stats().status == 200
    (entry,) = alice.arena.audited("token.revoke", alice.id)
    assert (entry.actor_kind, entry.actor_id, entry.outcome) == ("agent", alice.id, "done")


def test_jo_051_an_agent_named_like_an_operator(acme: Tenant, alice: Attacker) -> None:
    """Ids say what they are of: the name spaces cannot meet, and neither opens what the other does."""
    arena = alice.arena
    boss = arena.run(
        lambda s: invite(s, acme.id, email="admin@example.com", role=Role.TENANT_ADMIN)
    )
    mimic = acme.agent("agent:a:read", name="admin").signed_in()
    assert payload_of(mimic.token)["sub"].startswith("agt_")
    for sub in (boss.public_id, "admin", "admin@example.com"):
        assert mimic.stats(mimic.bent(sub=sub, client_id=sub)).is_invalid_token
    arena.change(update(operator).where(operator.c.operator_id == boss.id).values(status="active"))
    session = arena.run(lambda s: begin_session(s, boss, method=Method.LINK))
    cookie = {"Cookie": f"restante-session={session}"}
    page = mimic.wire.send("GET", "/account", cookie)
    assert page.status == 200
    for token in (mimic.token, session):
        answer = mimic.wire.send("GET", "/account", bearer(token))
        assert answer.status in (303, 401, 403)
        assert b"admin@example.com" not in answer.body
    assert mimic.call("GET", "A/inbox/stats", fields=cookie).problem == "401 unauthenticated"
    assert mimic.stats(session).is_invalid_token


def test_what_was_tried_here_left_no_row_of_another(alice: Attacker, rival: Attacker) -> None:
    counted = select(func.count()).where(agent_inbox.c.recipient_id == rival.raw)
    assert alice.arena.run(lambda s: s.connection().execute(counted).scalar_one()) == 1
