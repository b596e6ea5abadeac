"""What producers are told of what they have published."""

from __future__ import annotations

from restante.identity.scopes import TenantScope
from tests.http.world import Caller, World, verbs


def walk(caller: Caller, query: str) -> list[str]:
    """The event ids of all pages of a list, two at a time."""
    ids: list[str] = []
    token = ""
    for _ in range(10):
        page = caller.get(f"events?{query}&limit=2{token}").json
        assert len(page["events"]) <= 2
        ids += [event["event_id"] for event in page["events"]]
        if page["next_page_token"] is None:
            return ids
        token = f"&page_token={page['next_page_token']}"
    raise AssertionError("the list has no end")


def test_lists_are_walked_by_page(alice: Caller, bob: Caller) -> None:
    of_bob = [bob.publish(alice, correlation_id="c")[0]["event_id"] for _ in range(5)]
    of_bob.append(bob.publish(alice, correlation_id="c", delay_seconds=60)[0]["event_id"])
    alice.publish(alice, correlation_id="c")
    assert walk(bob, "correlation_id=c") == of_bob
    assert walk(bob, f"recipient={alice.id}") == of_bob
    assert walk(bob, "correlation_id=unknown") == []


def test_a_page_token_is_good_for_its_list_and_its_owner_alone(alice: Caller, bob: Caller) -> None:
    for caller in (alice, bob):
        for _ in range(3):
            caller.publish(alice, correlation_id="c")
    token = bob.get("events?correlation_id=c&limit=1").json["next_page_token"]
    assert bob.get(f"events?correlation_id=c&page_token={token}").status_code == 200
    refused = [
        bob.get(f"events?correlation_id=d&page_token={token}"),
        bob.get(f"events?recipient={alice.id}&page_token={token}"),
        bob.get(f"events?correlation_id=c&page_token={token[:-2]}AA"),
        bob.get("events?correlation_id=c&page_token="),
        alice.get(f"events?correlation_id=c&page_token={token}"),
    ]
    assert [a.json["type"] for a in refused] == ["/problems/page-token-invalid"] * 5
    assert {a.status_code for a in refused} == {400}


def test_a_tenants_reader_sees_what_anybody_published(
    world: World, alice: Caller, bob: Caller
) -> None:
    ids = [caller.publish(alice, correlation_id="c")[0]["event_id"] for caller in (alice, bob)]
    reader = world.service("acme", "reader", [TenantScope.EVENTS_READ.value])
    assert walk(reader, "correlation_id=c") == ids
    assert [reader.get(f"events/{event}").status_code for event in ids] == [200, 200]
    world.tenant("rival", "main")
    stranger = world.service("rival", "reader", [TenantScope.EVENTS_READ.value])
    assert walk(stranger, "correlation_id=c") == []
    assert walk(stranger, f"recipient={alice.id}") == []
    assert stranger.get(f"events/{ids[0]}").status_code == 404


def test_receipts_are_read_with_read_or_publish(world: World, alice: Caller, bob: Caller) -> None:
    event = bob.publish(alice)[0]["event_id"]
    for verb in ("read", "publish"):
        narrow = world.narrowed(bob, verbs("main", verb))
        assert narrow.get(f"events/{event}").json["stage"] == "available"
    assert world.narrowed(bob, verbs("main", "claim")).get(f"events/{event}").status_code == 403


def test_a_receipt_tells_how_far_an_event_has_come(alice: Caller, bob: Caller) -> None:
    event = bob.publish(alice)[0]["event_id"]

    def stage() -> str:
        receipt = bob.get(f"events/{event}").json
        assert receipt["recipient_id"] == alice.id
        return str(receipt["stage"])

    assert stage() == "available"
    alice.claim()
    assert stage() == "claimed"
    alice.post(f"A/inbox/{event}/reject", {"claim_generation": 1, "reason": "no"})
    assert stage() == "quarantined"
    receipt = bob.get(f"events/{event}").json
    assert receipt["quarantined_at"] is not None
    assert receipt["last_error"]["message"] == "no"


def test_what_a_consumer_holds_is_listed_and_given_back(alice: Caller, bob: Caller) -> None:
    ids = [bob.publish(alice)[0]["event_id"] for _ in range(3)]
    alice.claim(limit=2, consumer="one")
    alice.claim(limit=1, consumer="two")
    of_one = alice.get("A/inbox/claims?consumer=one").json["events"]
    assert [e["event_id"] for e in of_one] == ids[:2]
    assert all(e["claim_generation"] == 1 and e["payload"] for e in of_one)
    assert len(alice.get("A/inbox/claims").json["events"]) == 3
    assert alice.post("A/inbox/release", {"consumer": "one"}).json == {"released": 2}
    assert alice.post("A/inbox/release", {"consumer": "one"}).json == {"released": 0}
    assert [e["event_id"] for e in alice.claim(limit=5)] == ids[:2]


def test_a_page_shows_the_projects_asked_for(world: World) -> None:
    both = world.agent("acme", "both", [*verbs("main"), *verbs("other")])
    both.publish(both)
    both.publish(both, project="other")
    page = both.get("A/inbox?projects=other").json
    assert ([e["project"] for e in page["events"]], page["next_cursor"]) == (["other"], 2)
    assert [e["project"] for e in both.claim(projects=["main", "main"])] == ["main"]
    assert both.get("A/inbox?projects=main,other").json["claimable"] == 1
