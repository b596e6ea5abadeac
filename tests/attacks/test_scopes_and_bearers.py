"""What a token opens, and how it is brought (JO-033 to JO-042)."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from tests.attacks.arena import Attacker, Tenant, unknown_id
from tests.attacks.wire import FORM, bearer


def test_jo_033_the_scope_that_is_missing(acme: Tenant) -> None:
    """It is missing whether or not what is named is there."""
    alice = acme.agent("agent:a:read", "agent:a:claim").signed_in("agent:a:read")
    there = acme.agent()
    answers = [
        alice.call("POST", "A/inbox/claim", {}),
        alice.call("POST", f"A/inbox/{unknown_id('evt')}/ack", {"claim_generation": 1}),
    ]
    for answer in answers:
        assert answer.problem == "403 insufficient-scope"
        challenge = answer.headers["WWW-Authenticate"]
        assert 'error="insufficient_scope"' in challenge
        assert 'scope="agent:<project>:claim"' in challenge
    named = [alice.publish(there), alice.publish(there, project="nowhere")]
    assert {answer.problem for answer in named} == {"403 insufficient-scope"}
    assert len({answer.json["detail"] for answer in named}) == 1


@pytest.mark.parametrize(
    "scope",
    [
        "agent:a",
        "agent:a:*",
        "agent:*:read",
        "agent:ab:read",
        "Agent:A:Read",
        "agent:A:read",
        "agent:a:read:extra",
        "agent:a:read\t",
        "agent::read",
        "*",
    ],
)
def test_jo_034_scopes_that_nearly_are_it(alice: Attacker, scope: str) -> None:
    """Signed by the server's own key, in a token of an agent that is granted the right one."""
    answer = alice.stats(alice.bent(scope=scope))
    assert answer.problem == "403 insufficient-scope"
    assert alice.stats().status == 200


def test_jo_035_the_scope_of_another_project(acme: Tenant) -> None:
    """The same answer whether or not the project that is named is there."""
    alice = acme.agent("agent:b:read", "agent:b:publish").signed_in("agent:b:read agent:b:publish")
    answers = [alice.publish(alice, project=slug) for slug in ("a", "nowhere")]
    answers += [
        alice.call("GET", f"A/inbox?projects={slug}") for slug in ("a", "nowhere", "b,nowhere")
    ]
    assert {answer.problem for answer in answers} == {"403 insufficient-scope"}
    bodies = [
        (answer.json["detail"] + answer.json["required_scope"]).replace("nowhere", "a")
        for answer in answers
    ]
    assert len(set(bodies[:2])) == len(set(bodies[2:])) == 1


@pytest.mark.parametrize("scope", [["agent:a:read"], {"agent:a:read": 1}, 1, "", None])
def test_jo_036_scope_of_another_type(alice: Attacker, scope: object) -> None:
    assert alice.stats(alice.bent(scope=scope)).is_invalid_token


def test_jo_037_no_scope_implies_another(acme: Tenant) -> None:
    every = [f"agent:a:{verb}" for verb in ("read", "claim", "publish", "memory", "callback")]
    alice = acme.agent(*every)
    for scope in every:
        one = alice.signed_in(scope)
        assert (one.stats().status == 200) is (scope == "agent:a:read")
        claimed = one.call("POST", "A/inbox/claim", {})
        assert (claimed.status == 200) is (scope == "agent:a:claim")
        published = one.publish(alice)
        assert (published.status == 201) is (scope == "agent:a:publish")


def test_jo_038_no_credentials(alice: Attacker) -> None:
    for fields in ({}, {"Authorization": ""}):
        answer = alice.call("GET", "A/inbox/stats", fields=fields)
        assert answer.problem == "401 unauthenticated"
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="restante"'


def test_jo_039_a_token_in_the_query(alice: Attacker) -> None:
    """It opens nothing and is written nowhere."""
    path = f"A/inbox/stats?access_token={alice.token}"
    answer = alice.call("GET", path, fields={})
    assert answer.problem == "401 unauthenticated"
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="restante"'
    assert alice.token not in str(answer.headers)
    for target in (f"/?access_token={alice.token}", f"/api/docs?access_token={alice.token}"):
        assert alice.token.encode() not in alice.wire.send("GET", target).body
    assert alice.token not in alice.arena.log.read_text()


def test_jo_040_a_token_by_two_ways(alice: Attacker) -> None:
    form = urlencode({"access_token": alice.token}).encode()
    fields = [*bearer(alice.token).items(), ("Content-Type", FORM)]
    answer = alice.wire.send("POST", alice.path("A/inbox/claim"), fields, form)
    assert answer.problem == "400 ambiguous-credentials"
    answer = alice.call("GET", f"A/inbox/stats?access_token={alice.token}")
    assert answer.problem == "400 ambiguous-credentials"


def test_jo_041_two_authorization_fields(alice: Attacker, acme: Tenant) -> None:
    other = acme.agent().signed_in()
    for pair in (
        (alice.token, other.token),
        (other.token, alice.token),
        (alice.token, alice.token),
    ):
        fields = [("Authorization", f"Bearer {token}") for token in pair]
        for one in (alice, other):
            assert one.call("GET", "A/inbox/stats", fields=fields).status == 400
    mixed = [*bearer(alice.token).items(), *alice.basic.items()]
    assert alice.call("GET", "A/inbox/stats", fields=mixed).status == 400


def test_jo_042_the_scheme_in_other_case(alice: Attacker) -> None:
    for name, scheme in (("authorization", "bEaReR"), ("AUTHORIZATION", "BEARER")):
        answer = alice.call("GET", "A/inbox/stats", fields={name: f"{scheme} {alice.token}"})
        assert answer.status == 200
