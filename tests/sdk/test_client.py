"""The blocking client: tokens, retries with the same keys, typed answers."""

from __future__ import annotations

from typing import Any

import pytest

from restante_agent import (
    Client,
    ConfigurationError,
    CursorGone,
    Failure,
    InvalidClient,
    NotFound,
    Publication,
    RateLimited,
    RetryPolicy,
    StaleClaim,
    Unauthenticated,
    UnexpectedAnswer,
    Unreachable,
)
from tests.sdk.conftest import BASE, HandClock, make_client
from tests.sdk.fake_answers import AGENT, Reply, problem
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import Broken


def fail_first(inbox: FakeInbox, ending: str, *replies: Reply | type[Broken]) -> None:
    """Answer the first requests to a path with these instead, before anything happens."""
    left = list(replies)

    def before(method: str, path: str, body: Any) -> Reply | None:
        if path.endswith(ending) and left:
            reply = left.pop(0)
            if reply is Broken:
                raise Broken
            return reply  # type: ignore[return-value]  # the other kind was raised
        return None

    inbox.before = before


def lose_first(inbox: FakeInbox, ending: str) -> None:
    """Let the first request to a path happen, and break the connection before its answer."""
    left = [True]

    def after(method: str, path: str, reply: Reply) -> Reply | None:
        if path.endswith(ending) and left:
            left.pop()
            raise Broken
        return None

    inbox.after = after


def bodies(inbox: FakeInbox, ending: str) -> list[Any]:
    return [body for _, path, _, body in inbox.requests if path.endswith(ending)]


def test_an_event_goes_through_publish_claim_and_ack(inbox: FakeInbox, client: Client) -> None:
    published = client.publish(
        Publication(recipients=[AGENT], project="demo", type="note", payload={"text": "Grüße"})
    )
    claim = client.claim(limit=5, consumer="c")
    (event,) = claim.events
    assert event.event_id == published.events[0].event_id
    assert event.payload == {"text": "Grüße"}
    assert (event.claim_generation, event.attempts) == (1, 1)
    assert event.raw["unheard_of"] is True
    acked = client.ack(event.event_id, event.claim_generation, result={"ok": True})
    assert acked.status == "completed"
    assert inbox.rows[event.event_id].result == {"ok": True}
    assert client.stats().claimable == 0
    assert client.server_version == "0.1.0"


def test_one_token_serves_until_shortly_before_its_end(
    inbox: FakeInbox, client: Client, clock: HandClock
) -> None:
    client.stats()
    clock.now += 539
    client.stats()
    assert inbox.tokens_issued == 1
    clock.now += 2  # 600 s of life, renewed a minute before
    client.stats()
    assert inbox.tokens_issued == 2


def test_a_refused_token_is_replaced_once(inbox: FakeInbox, client: Client) -> None:
    client.stats()
    inbox.rejected_tokens.add("token-1")
    assert client.stats().epoch == "ep_1"
    assert inbox.tokens_issued == 2
    inbox.rejected_tokens |= {f"token-{n}" for n in range(10)}
    with pytest.raises(Unauthenticated):
        client.stats()
    assert inbox.tokens_issued == 3


def test_publishing_asks_for_the_scope_that_is_not_given_unasked(
    inbox: FakeInbox, client: Client
) -> None:
    client.stats()
    client.publish_many(
        [Publication(recipients=[AGENT], project=p, type="t", payload={}) for p in ("b", "a", "b")]
    )
    asked = [body.get("scope") for body in bodies(inbox, "/oauth/token")]
    assert asked == [None, "agent:a:publish agent:b:publish"]


def test_a_client_told_its_scopes_keeps_to_them(inbox: FakeInbox, clock: HandClock) -> None:
    client = make_client(inbox, clock, scope="agent:demo:publish agent:demo:read")
    client.stats()
    client.publish(Publication(recipients=[AGENT], project="demo", type="t", payload={}))
    assert [b["scope"] for b in bodies(inbox, "/oauth/token")] == [
        "agent:demo:publish agent:demo:read"
    ]


@pytest.mark.parametrize("how", ["before", "after"])
def test_a_publish_is_retried_with_its_key_and_happens_once(
    inbox: FakeInbox, client: Client, how: str
) -> None:
    if how == "before":
        fail_first(inbox, "/events", Broken, problem(503, "outcome-unknown"))
    else:
        lose_first(inbox, "/events")
    published = client.publish(
        Publication(recipients=[AGENT], project="demo", type="t", payload={})
    )
    keys = [h["idempotency-key"] for _, p, h, _ in inbox.requests if p.endswith("/events")]
    assert len(keys) >= 2
    assert set(keys) == {published.idempotency_key}
    assert len(inbox.rows) == 1
    assert published.replayed is (how == "after")


def test_a_claim_whose_answer_is_lost_is_repeated_not_made_anew(
    inbox: FakeInbox, client: Client
) -> None:
    inbox.publish()
    inbox.publish()
    lose_first(inbox, "/claim")
    claim = client.claim(limit=1, consumer="c")
    assert len(claim.events) == 1
    ids = [body["claim_id"] for body in bodies(inbox, "/claim")]
    assert ids == [claim.claim_id] * 2
    assert sorted(inbox.statuses().values()) == ["claimed", "pending"]
    client.claim(limit=1)
    assert bodies(inbox, "/claim")[-1]["claim_id"] != claim.claim_id


def test_a_release_whose_answer_is_lost_is_not_taken_for_a_stale_claim(
    inbox: FakeInbox, client: Client
) -> None:
    event_id = inbox.publish()
    client.claim()
    lose_first(inbox, "/release")
    released = client.release(event_id, 1, error=Failure("boom", "it broke"))
    assert released.status == "pending"
    assert inbox.rows[event_id].effects == ["release"]
    with pytest.raises(StaleClaim) as stale:  # asked for anew, it is one
        client.release(event_id, 1)
    assert stale.value.reason == "released"
    assert stale.value.current_generation == 1


def test_waits_are_the_servers_and_never_shortened(
    inbox: FakeInbox, client: Client, clock: HandClock
) -> None:
    fail_first(
        inbox, "/stats", problem(429, "rate-limited", retry_after=7), problem(503, "overloaded")
    )
    client.stats()
    named, own = clock.slept
    assert 7 <= named <= 7 * 1.25
    assert 0 <= own <= 1


def test_a_wait_past_the_budget_is_the_callers(
    inbox: FakeInbox, client: Client, clock: HandClock
) -> None:
    fail_first(inbox, "/stats", problem(429, "rate-limited", retry_after=300))
    with pytest.raises(RateLimited) as limited:
        client.stats()
    assert limited.value.retry_after_seconds == 300
    assert clock.slept == []


def test_a_full_inbox_is_said_at_once(inbox: FakeInbox, client: Client) -> None:
    fail_first(inbox, "/events", problem(429, "inbox-full", recipients=[AGENT], retry_after=1))
    with pytest.raises(Exception, match="inbox-full") as full:
        client.publish(Publication(recipients=[AGENT], project="demo", type="t", payload={}))
    assert full.value.recipients == (AGENT,)  # type: ignore[attr-defined]  # InboxFull has it
    assert inbox.count("/events") == 1


def test_attempts_are_bounded(inbox: FakeInbox, clock: HandClock) -> None:
    client = make_client(inbox, clock, retry=RetryPolicy(attempts=3))
    fail_first(inbox, "/stats", *[Broken] * 9)
    with pytest.raises(Unreachable):
        client.stats()
    assert inbox.count("/stats") == 3


def test_a_gone_cursor_tells_what_to_do(inbox: FakeInbox, client: Client) -> None:
    inbox.head, inbox.oldest = 20, 9
    with pytest.raises(CursorGone) as gone:
        client.read(3)
    problem_ = gone.value
    assert (problem_.reason, problem_.oldest_cursor, problem_.head) == ("retention", 9, 20)
    assert problem_.epoch == "ep_1"
    assert problem_.lost == {"from": 1, "to": 9, "count": 9, "unsettled": 1}
    with pytest.raises(NotFound):  # this fake has no state yet
        client.state(problem_.state_url)
    inbox.has_state = True
    state = client.state(problem_.state_url)
    assert (state.cursor, state.epoch) == (20, "ep_1")
    with pytest.raises(CursorGone) as other:
        client.claim(epoch="ep_0")
    assert other.value.lost is None


def test_a_link_to_another_place_gets_no_token(client: Client) -> None:
    for url in ("https://elsewhere.example/state", "//elsewhere.example/x", "state"):
        with pytest.raises(UnexpectedAnswer):
            client.state(url)
    with pytest.raises(NotFound):
        client.state(f"{BASE}/api/v1/agents/{AGENT}/state")


def test_a_wrong_secret_is_invalid_client_and_not_retried(
    inbox: FakeInbox, clock: HandClock
) -> None:
    client = make_client(inbox, clock)
    object.__setattr__(client.core.credentials, "client_secret", "wrong")
    with pytest.raises(InvalidClient):
        client.stats()
    assert inbox.count("/token") == 1
    assert clock.slept == []


def test_a_page_that_is_not_json_names_the_doubt(inbox: FakeInbox, client: Client) -> None:
    fail_first(inbox, "/stats", (200, {"content-type": "text/html"}, b"<html>"))
    with pytest.raises(UnexpectedAnswer, match="Restante server"):
        client.stats()


def test_a_proxys_error_page_is_a_server_failure_and_retried(
    inbox: FakeInbox, client: Client
) -> None:
    fail_first(inbox, "/stats", (502, {"content-type": "text/html"}, b"<html>"))
    assert client.stats().pending == 0


def test_secrets_are_in_no_repr(client: Client) -> None:
    client.stats()
    text = repr(client.core) + repr(client.core.shared.tokens)
    assert "s3cret" not in text
    assert "token-1" not in text


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "inbox.example", "http://inbox.example", "https://a:b@c", "https://x.example/api"],
)
def test_a_base_url_that_would_leak_or_mislead_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        Client(url, AGENT, "x")


def test_an_id_cannot_climb_out_of_its_path(client: Client, inbox: FakeInbox) -> None:
    for event_id in ("", ".."):
        with pytest.raises(ConfigurationError):
            client.ack(event_id, 1)
    with pytest.raises(NotFound):
        client.ack("evt_1/../../x", 1)
    assert inbox.count("/x") == 0
