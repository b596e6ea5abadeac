"""Which pages browsers let read an answer: those of origins that the caller's own tenant lists."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from werkzeug.test import TestResponse

from tests.http.world import Caller, World, open_world, unknown_id, verbs
from tests.support.databases import TestDatabase

OURS, THEIRS, NOBODYS = (
    "https://app.example.com",
    "https://rival.example.org",
    "https://evil.example.test",
)
ALLOW = "Access-Control-Allow-Origin"
ASKED = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type",
}


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    """Two tenants, each with a list of its own."""
    with open_world(database.url, settings) as one:
        one.tenant("rival", "main")
        for tenant, origin in (("acme", OURS), ("rival", THEIRS)):
            admin = one.service(tenant, "admin", ["tenant:agents:write"])
            answer = admin.call("PATCH", "admin/tenant", json={"allowed_origins": [origin]})
            assert answer.status_code == 200, answer.text
        forget(one)
        yield one


@pytest.fixture
def rival(world: World) -> Caller:
    return world.agent("rival", "alice", verbs("main"))


def forget(world: World) -> None:
    """What is known of the lists is too old from now on."""
    world.house.origins._lists.expire()


def preflight(world: World, path: str, origin: str) -> TestResponse:
    return world.client.open(path, method="OPTIONS", headers={"Origin": origin, **ASKED})


def told(answer: TestResponse) -> dict[str, str]:
    """What is said to browsers."""
    return {
        k: v for k, v in answer.headers.items() if k.startswith("Access-Control-") or k == "Vary"
    }


def test_an_answer_is_for_the_origins_of_its_callers_tenant(
    world: World, alice: Caller, rival: Caller
) -> None:
    for caller, origin in ((alice, OURS), (rival, THEIRS)):
        answer = caller.get("A/inbox/stats", headers={"Origin": origin})
        assert answer.status_code == 200
        assert answer.headers[ALLOW] == origin
        assert answer.headers["Vary"] == "Origin"
        shown = answer.headers["Access-Control-Expose-Headers"].split(", ")
        assert {
            *("ETag", "X-Request-Id", "Retry-After", "WWW-Authenticate", "Accept-Signature"),
            *("Restante-Version", "Idempotency-Replayed"),
            # what a batch of CloudEvents has besides
            *("Restante-Next-Cursor", "Restante-Has-More", "Restante-Claimable", "Restante-Epoch"),
            *("Restante-Next-Poll-Ms", "Restante-Claim-Id", "Restante-Reason", "Restante-Spent"),
        } == set(shown)
        assert "Access-Control-Allow-Credentials" not in answer.headers
    for caller, origin in ((alice, THEIRS), (rival, OURS), (alice, NOBODYS)):
        answer = caller.get("A/inbox/stats", headers={"Origin": origin})
        assert answer.status_code == 200
        assert told(answer) == {"Vary": "Origin"}


@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "*",
        "",
        f"{OURS}/",
        f"{OURS}:443",
        OURS.upper(),
        OURS.replace("https", "http"),
        f"{OURS}.evil.example.test",
        f"https://evil.example.test, {OURS}",
        OURS.replace("app.", ""),
    ],
)
def test_origins_are_compared_exactly(world: World, alice: Caller, origin: str) -> None:
    answer = alice.get("A/inbox/stats", headers={"Origin": origin})
    assert told(answer) == {"Vary": "Origin"}
    assert ALLOW not in preflight(world, alice.address("A/inbox"), origin).headers


def test_a_refusal_can_be_read_where_the_answer_could(alice: Caller, rival: Caller) -> None:
    for path in (f"A/inbox/{unknown_id('evt')}", "A/inbox?limit=0", f"events/{unknown_id('evt')}"):
        ours, theirs = (alice.get(path, headers={"Origin": o}) for o in (OURS, THEIRS))
        assert ours.status_code == theirs.status_code
        assert ours.status_code >= 400
        assert (ours.headers.get(ALLOW), theirs.headers.get(ALLOW)) == (OURS, None)
        assert "WWW-Authenticate" in ours.headers["Access-Control-Expose-Headers"]


def test_before_it_is_known_who_calls_a_listed_origin_learns_that_nobody_is(
    world: World, alice: Caller
) -> None:
    """A page has to see that its token has run out. What it sees is the same for everybody."""
    for headers in ({}, {"Authorization": "Bearer over"}):
        for origin, allowed in ((OURS, True), (THEIRS, True), (NOBODYS, False)):
            answer = world.client.get(
                alice.address("A/inbox"), headers={**headers, "Origin": origin}
            )
            assert answer.status_code == 401
            assert (answer.headers.get(ALLOW) == origin) is allowed


def test_a_preflight_says_the_same_of_every_address(
    world: World, alice: Caller, rival: Caller
) -> None:
    """So that it tells neither which tenant lists the origin nor which agents there are."""
    paths = [
        alice.address("A/inbox/claim"),
        rival.address("A/inbox/claim"),
        alice.address("A/subscribe"),
        f"/api/v1/agents/{unknown_id('agt')}/inbox/claim",
        "/api/v1/events",
        "/api/v1/no/such/address",
    ]
    for origin, allowed in ((OURS, True), (THEIRS, True), (NOBODYS, False)):
        answers = [preflight(world, path, origin) for path in paths]
        assert all(answer.status_code == 204 and answer.data == b"" for answer in answers)
        assert all(told(answer) == told(answers[0]) for answer in answers)
        assert (answers[0].headers.get(ALLOW) == origin) is allowed
    allowed_to = preflight(world, paths[0], OURS).headers
    sent = {name.lower() for name in allowed_to["Access-Control-Allow-Headers"].split(", ")}
    assert sent == {
        *("authorization", "content-type", "idempotency-key", "if-match", "if-none-match"),
        *("signature", "signature-input", "content-digest", "x-request-id", "traceparent"),
    }
    methods = set(allowed_to["Access-Control-Allow-Methods"].split(", "))
    assert methods == {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
    assert allowed_to["Access-Control-Max-Age"] == "600"
    assert "Access-Control-Allow-Credentials" not in allowed_to
    assert told(preflight(world, paths[0], NOBODYS)) == {"Vary": "Origin"}


def test_what_is_no_preflight_is_a_method_like_any_other(world: World) -> None:
    for headers in ({}, {"Origin": OURS}, ASKED):
        answer = world.client.open("/api/v1/events", method="OPTIONS", headers=headers)
        assert (answer.status_code, answer.json["type"]) == (405, "/problems/method-not-allowed")


def test_nothing_but_the_agents_api_is_for_other_origins(world: World, alice: Caller) -> None:
    others = {
        rule.rule
        for rule in world.app.url_map.iter_rules()
        if not rule.rule.startswith("/api/v1/") or rule.rule.startswith("/api/v1/admin/")
    }
    assert {"/oauth/token", "/api/v1/admin/tenant", "/account", "/"} <= others
    admin = world.service("acme", "another", ["tenant:agents:write"])
    assert admin.get("admin/tenant", headers={"Origin": OURS}).status_code == 200
    for rule in others:
        for caller in (alice, admin):
            answer = caller.get(rule, headers={"Origin": OURS})
            assert not told(answer).keys() - {"Vary"}, rule
        assert ALLOW not in preflight(world, rule, OURS).headers


def test_a_change_of_the_list_holds_within_a_second(world: World, alice: Caller) -> None:
    admin = world.service("acme", "another", ["tenant:agents:write"])
    known = alice.get("A/inbox/stats", headers={"Origin": OURS})
    assert known.headers[ALLOW] == OURS
    assert admin.call("PATCH", "admin/tenant", json={"allowed_origins": []}).status_code == 200
    world.house.origins._monotonic = lambda: 1e9  # much later than half a second
    assert ALLOW not in alice.get("A/inbox/stats", headers={"Origin": OURS}).headers
    assert ALLOW not in preflight(world, alice.address("A/inbox"), OURS).headers


def test_a_list_that_cannot_be_read_allows_nobody_and_hides_no_answer(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(origin: str) -> frozenset[bytes]:
        raise RuntimeError

    monkeypatch.setattr(world.house.origins, "tenants", broken)
    answer = alice.get("A/inbox/stats", headers={"Origin": OURS})
    assert answer.status_code == 200
    assert told(answer) == {"Vary": "Origin"}
    assert preflight(world, alice.address("A/inbox"), OURS).status_code == 500


def test_streams_are_for_the_same_origins_by_token_and_by_ticket(
    world: World, alice: Caller
) -> None:
    for origin, allowed in ((OURS, OURS), (THEIRS, None), (NOBODYS, None)):
        ticket = alice.post("A/subscribe-tickets").json["ticket"]
        path = alice.address(f"A/subscribe?ticket={ticket}")
        for stream in (
            alice.get("A/subscribe", headers={"Origin": origin}),
            world.client.get(path, headers={"Origin": origin}),
        ):
            assert stream.status_code == 200
            assert stream.headers.get(ALLOW) == allowed
            stream.close()


def test_who_sends_no_origin_costs_no_look_at_the_lists(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.house.origins, "tenants", None)
    answer = alice.get("A/inbox/stats")
    assert told(answer) == {"Vary": "Origin"}
