"""Headers, problems and addresses: what every answer has in common."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from blueprints.agents.blueprint import EventConverter
from restante import __version__
from restante.errors import Overloaded, RestanteError
from restante.storage.transaction import Session
from tests.http.world import Caller, World


def test_every_answer_names_its_request_and_the_servers_version(
    world: World, alice: Caller
) -> None:
    for path in (
        "/health/live",
        "/nowhere",
        "/problems",
        "/oauth/jwks.json",
        alice.address("A/inbox"),
    ):
        answer = world.client.get(path)
        assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-Id"]), path
        assert answer.headers["Restante-Version"] == __version__
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("sent", ["req-1", "a" * 128, "01HZX/abc:1+2=@_.x"])
def test_a_sane_request_id_is_echoed(world: World, sent: str) -> None:
    answer = world.client.get("/nowhere", headers={"X-Request-Id": sent})
    assert answer.headers["X-Request-Id"] == answer.json["request_id"] == sent


@pytest.mark.parametrize("sent", ["", "a" * 129, "a b", "<script>", "ä", "a,b"])
def test_any_other_is_replaced(world: World, sent: str) -> None:
    answer = world.client.get("/nowhere", headers={"X-Request-Id": sent.encode().decode("latin-1")})
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["X-Request-Id"])


def test_a_problem_is_a_problem(world: World, alice: Caller) -> None:
    answer = alice.get("A/inbox/evt_nonsense", headers={"X-Request-Id": "r1"})
    assert answer.content_type == "application/problem+json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json == {
        "type": "/problems/not-found",
        "title": "There is nothing of that name here",
        "status": 404,
        "detail": "There is nothing of that name here.",
        "instance": f"/api/v1/agents/{alice.id}/inbox/evt_nonsense",
        "request_id": "r1",
    }


@pytest.mark.parametrize(
    "path",
    [
        "/health/live/",
        "/health//live",
        "/api//v1/events",
        "/api/v1/events/",
        "/API/v1/events",
        "/api/v1/agents/x/inbox/",
        "/api/v1/agents//inbox",
        "/static/../app.py",
        "/static/nothing.css",
        "/api/v2/events",
        "/%00",
    ],
)
def test_an_address_has_one_spelling(world: World, path: str) -> None:
    answer = world.client.get(path)
    assert (answer.status_code, answer.mimetype) == (404, "application/problem+json"), path
    assert "Location" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "A/inbox/claim", "POST"),
        ("DELETE", "A/inbox/claim", "POST"),
        ("POST", "A/inbox/stats", "GET, HEAD"),
        ("POST", "A/inbox", "GET, HEAD"),
        ("PUT", "events", "GET, HEAD, POST"),
        ("GET", "A/events", "POST"),
        ("GET", "A/inbox/evt_x/ack", "POST"),
        ("OPTIONS", "events", "GET, HEAD, POST"),
        ("TRACE", "/health/live", "GET, HEAD"),
        ("POST", "/problems", "GET, HEAD"),
        ("PUT", "/static/manual.css", "GET, HEAD"),
    ],
)
def test_other_methods_are_405_and_name_those_allowed(
    alice: Caller, method: str, path: str, allowed: str
) -> None:
    answer = alice.call(method, path)
    assert (answer.status_code, answer.json["type"]) == (405, "/problems/method-not-allowed")
    assert answer.headers["Allow"] == allowed


def test_words_below_the_inbox_are_no_events(world: World) -> None:
    """Each has a route, so that a wrong method is 405 and not an event that is not there."""
    below = {
        rule.rule.rpartition("/")[2]
        for rule in world.app.url_map.iter_rules()
        if rule.rule.startswith("/api/v1/agents/<agent_id>/inbox/") and rule.rule.count("/") == 6
    }
    words = {word for word in below if not word.startswith("<")}
    assert words == {word for word in words if not re.fullmatch(EventConverter.regex, word)}


@pytest.mark.parametrize(
    "path", ["A/inbox", "A/inbox/stats", "A/inbox/claims", "/health/live", "/metrics"]
)
def test_head_is_get_without_a_body(alice: Caller, path: str) -> None:
    alice.publish(alice)
    got, asked = alice.get(path), alice.call("HEAD", path)
    assert asked.status_code == got.status_code == 200
    assert asked.data == b""
    assert asked.content_type == got.content_type


def test_head_never_waits(world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def listen(*_: object) -> None:
        raise AssertionError("it listened")

    monkeypatch.setattr(world.house.hub, "listen", listen)
    assert alice.call("HEAD", "A/inbox?wait_seconds=30").status_code == 200


def test_claims_are_not_kept_by_caches(alice: Caller) -> None:
    assert alice.post("A/inbox/claim", {}).headers["Cache-Control"] == "no-store"
    assert alice.get("A/inbox").headers["Cache-Control"] == "private, no-cache"


def test_a_page_that_is_known_is_304(alice: Caller, bob: Caller) -> None:
    bob.publish(alice)
    first = alice.get("A/inbox")
    tag = first.headers["ETag"]
    assert tag.startswith('W/"')
    for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
        again = alice.get("A/inbox", headers={"If-None-Match": known})
        assert (again.status_code, again.data) == (304, b"")
        assert again.headers["ETag"] == tag
        assert again.headers["Cache-Control"] == "private, no-cache"
    alice.claim()
    changed = alice.get("A/inbox", headers={"If-None-Match": tag})
    assert (changed.status_code, changed.json["claimable"]) == (200, 0)


def test_the_tag_of_an_empty_page_changes_when_something_is_claimable(
    alice: Caller, bob: Caller
) -> None:
    bob.publish(alice)
    tag = alice.get("A/inbox?after_cursor=1").headers["ETag"]
    alice.claim()
    assert alice.get("A/inbox?after_cursor=1", headers={"If-None-Match": tag}).status_code == 200


def test_a_known_tag_never_hides_that_the_history_is_gone(alice: Caller) -> None:
    tag = alice.get("A/inbox").headers["ETag"]
    gone = alice.get("A/inbox?after_cursor=9", headers={"If-None-Match": tag})
    assert (gone.status_code, gone.json["reason"]) == (410, "epoch")


def test_the_publishers_trace_goes_with_the_event(alice: Caller, bob: Caller) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    body = {"recipients": [alice.id], "project": "main", "payload": {"type": "t"}}
    for sent in (trace, "00-" + "0" * 32 + "-00f067aa0ba902b7-01", "garbage", trace.upper()):
        assert bob.post("events", body, headers={"traceparent": sent}).status_code == 201
    assert [e["traceparent"] for e in alice.get("A/inbox").json["events"]] == [
        trace,
        None,
        None,
        None,
    ]


def test_a_fault_of_ours_tells_nothing_but_the_request_id(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(session: Session, *_: object) -> None:
        raise RuntimeError("the secret is swordfish")

    monkeypatch.setattr("blueprints.agents.claim.claim", fail)
    answer = alice.post("A/inbox/claim", {}, headers={"X-Request-Id": "r500"})
    assert (answer.status_code, answer.json["type"]) == (500, "/problems/internal-error")
    assert "swordfish" not in answer.text
    assert answer.json["request_id"] == "r500"
    assert "request_id=r500" in caplog.text
    assert "swordfish" in caplog.text


def test_an_error_without_a_problem_of_its_own_is_500_and_logged(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unforeseen(RestanteError):
        """Nobody has thought of this."""

    def fail(*_: object) -> None:
        raise Unforeseen

    monkeypatch.setattr("blueprints.agents.claim.claim", fail)
    answer = alice.post("A/inbox/claim", {})
    assert (answer.status_code, answer.json["type"]) == (500, "/problems/internal-error")
    assert "thought" not in answer.text


def test_overload_says_when_to_come_again(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Overloaded

    monkeypatch.setattr("blueprints.agents.claim.claim", fail)
    answer = alice.post("A/inbox/claim", {})
    assert (answer.status_code, answer.json["type"]) == (503, "/problems/overloaded")
    assert 1 <= int(answer.headers["Retry-After"]) <= 4


class TestRates:
    @pytest.fixture
    def settings(self) -> dict[str, object]:
        return {"rate_limit_per_second": 0.5}

    def test_past_the_limit_calls_are_429(self, alice: Caller, bob: Caller) -> None:
        assert alice.get("A/inbox").status_code == 200
        refused = alice.get("A/inbox")
        assert (refused.status_code, refused.json["type"]) == (429, "/problems/rate-limited")
        assert 1 <= int(refused.headers["Retry-After"]) <= 5
        assert bob.get("A/inbox").status_code == 200


class TestFullInbox:
    @pytest.fixture
    def settings(self) -> dict[str, object]:
        return {"max_pending": 2}

    def test_beyond_max_pending_nothing_is_written(self, alice: Caller, bob: Caller) -> None:
        bob.publish(alice)
        bob.publish(alice)
        body = {"recipients": [bob.id, alice.id], "project": "main", "payload": {"type": "t"}}
        full = bob.post("events", body)
        assert (full.status_code, full.json["type"]) == (429, "/problems/inbox-full")
        assert full.json["recipients"] == [alice.id]
        assert "Retry-After" in full.headers
        assert bob.get("A/inbox/stats").json["head"] == 0


def test_requests_are_counted_by_route(world: World, alice: Caller) -> None:
    alice.post("A/inbox/claim", {})
    text = world.client.get("/metrics").text
    route = "/api/v1/agents/<agent_id>/inbox/claim"
    assert f'http_request_seconds_count{{method="POST",route="{route}",status="200"}}' in text


def test_a_scrape_asks_the_database_nothing(
    world: World, alice: Caller, counted: Callable[[], Any]
) -> None:
    alice.publish(alice)
    with counted() as statements:
        assert world.client.get("/metrics").status_code == 200
    assert statements == []


def test_readiness_ends_when_draining_begins(world: World) -> None:
    assert world.client.get("/health/ready").status_code == 200
    world.house.hub.drain()
    answer = world.client.get("/health/ready")
    assert (answer.status_code, answer.json) == (503, {"status": "draining"})
    assert world.client.get("/health/live").json == {"status": "live"}
