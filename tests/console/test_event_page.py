"""One event in the console: its story, its payload when asked for, its correction; and search."""

from __future__ import annotations

import pytest

from blueprints.console.amend import wrong_with
from blueprints.console.laid_out import MOST, laid_out
from restante.identity.roles import Role
from tests.console.browsing import actions, audited, signed_in
from tests.console.html import parse
from tests.console.test_web_ui_text import ATTACKS, skeleton
from tests.console.well_made import check_light, check_made
from tests.http.test_triage import poison, work_off
from tests.http.world import Caller, World, unknown_id, verbs


def test_what_happened_is_told_and_the_payload_only_when_asked(
    world: World, alice: Caller, bob: Caller
) -> None:
    (event,) = poison(alice, bob, "not for me")
    browser = signed_in(world)
    browser.get(f"/events/{event}")
    page = browser.page
    told = [li.one("strong").text for li in page.one("ol", **{"class": "story"}).all("li")]
    assert told == [
        "Published",
        "Claimed for the first time",
        "Rejected by its agent",
        "Quarantined: rejected by its agent",
        "Waits here until someone redrives or discards it",
    ]
    assert page.all("pre") == []
    assert ("payload.read", "done") not in actions(world)
    browser.send(f"/events/{event}/payload#payload")
    assert browser.answer.status_code == 200
    assert browser.page.one("pre").raw == '{\n  "n": 1\n}'
    entry = audited(world)[-1]
    assert (entry.action, entry.target) == ("payload.read", event)
    answer = browser.get(f"/events/{event}/payload")  # Back, or the address alone
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/events/{event}")
    assert audited(world)[-1] == entry


def test_who_holds_an_event_is_told_and_for_how_long(
    world: World, alice: Caller, bob: Caller
) -> None:
    """Its agent where the consumer has no name; what cancelling does has an address of its own."""
    ids = [bob.publish(alice)[0]["event_id"] for _ in range(2)]
    alice.claim(limit=1, lease_seconds=600)
    browser = signed_in(world)
    browser.get(f"/events/{ids[0]}")
    last = browser.page.one("ol", **{"class": "story"}).all("li")[-1]
    assert last.one("strong").text.startswith("alice works on it, for another ")
    assert "Held by alice, for another" in browser.page.one("section", id="facts").text
    assert "open" not in browser.page.one("details", **{"class": "ask"}).attributes
    browser.get(f"/events/{ids[0]}/cancel")
    asked = browser.page.one("details", **{"class": "ask"})
    assert "open" in asked.attributes
    assert "alice works on it: it is asked to stop" in asked.text
    browser.get(f"/events/{ids[1]}/cancel")
    assert "Nobody will work on it" in browser.page.one("details", **{"class": "ask"}).text
    assert "Held by" not in browser.page.text


def test_the_payload_is_had_as_a_file(world: World, alice: Caller, bob: Caller) -> None:
    (event,) = bob.publish(alice, payload={"type": 'x"\r\nHX-Redirect: //evil.example', "é": 1})
    browser = signed_in(world)
    browser.get(f"/events/{event['event_id']}")
    answer = browser.send(f"/events/{event['event_id']}/raw")
    assert answer.headers["Content-Disposition"] == (
        f'attachment; filename="{event["event_id"]}.json"'
    )
    assert answer.mimetype == "application/json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert not [value for _, value in answer.headers if "evil" in value]
    assert answer.get_json()["é"] == 1
    assert audited(world)[-1].action == "payload.read"


def test_a_completed_event_has_no_payload(world: World, alice: Caller, bob: Caller) -> None:
    bob.publish(alice)
    (event,) = alice.claim()
    alice.post(f"A/inbox/{event['event_id']}/ack", {"claim_generation": event["claim_generation"]})
    browser = signed_in(world)
    browser.get(f"/events/{event['event_id']}")
    assert "It was dropped when the event was completed" in browser.page.text
    assert "Show the payload" not in browser.page.buttons()
    form = {"csrf": browser.token()}
    assert browser.post(f"/events/{event['event_id']}/raw", form).status_code == 404


def test_an_event_is_amended_in_steps(world: World, alice: Caller, bob: Caller) -> None:
    (event,) = poison(alice, bob, "x")
    browser = signed_in(world)
    path = f"/events/{event}/amend"
    browser.get(f"/events/{event}")
    check_light(browser.page)
    check_made(browser.page)
    browser.send(path)
    check_light(browser.page)
    assert browser.page.form(path)["payload"] == '{\n  "n": 1\n}'
    browser.send(path, step="check", payload='{\r\n  "n": 2,\r\n}')
    assert browser.answer.status_code == 422
    assert browser.page.one("div", role="alert").text.startswith("Line 3, column 1:")
    browser.send(path, step="check", payload='{\r\n  "n": 2\r\n}')
    lines = [(li.attributes.get("class"), li.raw) for li in browser.page.all("li")]
    assert ("removed", '-  "n": 1') in lines
    assert ("added", '+  "n": 2') in lines
    browser.send(path, step="go")
    assert (browser.answer.status_code, "Say why" in browser.page.text) == (422, True)
    form = {**browser.page.form(path), "step": "go", "why": "a slip of the producer"}
    job = browser.post(path, form).headers["Location"]
    assert job.startswith("/quarantine/jobs/job_")
    work_off(world)
    assert browser.post(path, form).headers["Location"] == job
    (made,) = alice.claim()
    assert (made["payload"], made["corrects"]) == ({"n": 2}, event)
    browser.get(f"/events/{event}")
    assert "A corrected event took its place" in browser.page.text
    correction = f"/events/{made['event_id']}"
    assert correction in [a.attributes["href"] for a in browser.page.all("a")]
    browser.get(correction)
    assert f"/events/{event}" in [a.attributes["href"] for a in browser.page.all("a")]
    again = browser.post(path, {"csrf": browser.token()})
    assert again.status_code == 409


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Line 1, column 1"),
        ("[]", "a JSON object"),
        ('{"a": NaN}', "no JSON"),
        ('{"a": "\\ud800"}', "no JSON"),
        ('{"a": ' + "[" * 64 + "]" * 64 + "}", "deeper than 64"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "deeper than 64"),
        ('{"a": "' + "x" * 300_000 + '"}', "262,144 bytes"),
        ('{"a"\n 1}', "Line 2, column 2"),
    ],
)
def test_what_is_no_payload_is_said_with_its_place(text: str, said: str) -> None:
    assert said in str(wrong_with(text, most_bytes=262_144))


def test_numbers_are_shown_as_they_were_received() -> None:
    shown = laid_out(rb'{"a":[1.50,{},[]],"b":"x\"{,"}')
    assert shown == '{\n  "a": [\n    1.50,\n    {},\n    []\n  ],\n  "b": "x\\"{,"\n}'
    assert laid_out(b"\xff") == "\\xff"


def test_wu_030_a_large_payload_is_cut_on_the_page(
    world: World, alice: Caller, bob: Caller
) -> None:
    (event,) = bob.publish(alice, payload={"type": "large", "text": "<&" * 100_000})
    browser = signed_in(world)
    browser.get(f"/events/{event['event_id']}")
    browser.send(f"/events/{event['event_id']}/payload#payload")
    assert browser.answer.status_code == 200
    assert len(browser.answer.data) < 1_000_000
    assert len(browser.page.one("pre").raw) == MOST
    assert f"The first {MOST:,} bytes" in browser.page.text


@pytest.mark.parametrize("attack", ATTACKS)
def test_wu_027_markup_of_events_is_text(world: World, attack: str) -> None:
    """Type, payload, correlation, ordering key, error: the same elements as with harmless text."""
    shapes = []
    for name, text in (("harmless", "harmless"), ("hostile", attack)):
        agent = world.agent("acme", name, verbs("main"))
        said = {
            "type": text[:100],
            "payload": {"type": text[:100], "note": text},
            "correlation_id": f"{name}{text}"[:128],
            "ordering_key": text,
        }
        (event,) = agent.publish(agent, **said)
        (held,) = agent.claim()
        error = {"claim_generation": held["claim_generation"], "reason": text}
        agent.post(f"A/inbox/{event['event_id']}/reject", error)
        browser = signed_in(world, email=f"{name}@example.com")
        pages = [f"/events/{event['event_id']}", "/quarantine/events?inbox=" + name]
        shown = [parse(browser.get(path).text) for path in pages]
        browser.get(f"/search?q={name}")
        browser.get(pages[0])
        browser.send(f"{pages[0]}/payload#payload")
        shown.append(browser.page)
        browser.send(f"{pages[0]}/amend")
        shown.append(browser.page)
        browser.get("/search", query_string={"q": said["correlation_id"]})
        assert browser.answer.status_code == 200
        shown.append(browser.page)
        shapes.append([skeleton(page) for page in shown])
        if text == attack:
            assert " ".join(attack.split())[:80] in shown[0].text
    assert shapes[0] == shapes[1]


def test_wu_039_events_of_others_are_as_those_that_never_were(
    world: World, alice: Caller, bob: Caller
) -> None:
    (event,) = poison(alice, bob, "x")
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    for named in (event, unknown_id("evt"), "evt_x", "x"):
        assert rival.get(f"/events/{named}").status_code == 404
        assert rival.heading == "There is nothing here"
        for part in ("payload", "raw", "amend"):
            form = {"csrf": rival.token(), "step": "go", "payload": "{}", "why": "w"}
            assert rival.post(f"/events/{named}/{part}", form).status_code == 404, (named, part)
    for q in (event, alice.id, "alice"):
        assert rival.get("/search", query_string={"q": q}).status_code == 404, q
    assert ("payload.read", "done") not in actions(world)
    assert alice.get(f"A/inbox/{event}").json["status"] == "quarantined"


def test_search_leads_to_what_is_named_exactly(world: World, alice: Caller, bob: Caller) -> None:
    (event,) = bob.publish(alice, correlation_id="order 7")
    browser = signed_in(world)
    for q, path in (
        (event["event_id"], f"/events/{event['event_id']}"),
        (f" {alice.id} ", f"/inboxes/{alice.id}"),
        ("alice", f"/inboxes/{alice.id}"),
    ):
        answer = browser.get("/search", query_string={"q": q})
        assert (answer.status_code, answer.headers.get("Location")) == (303, path)
    browser.get("/search", query_string={"q": "order 7"})
    assert f"/events/{event['event_id']}" in [a.attributes["href"] for a in browser.page.all("a")]
    assert browser.get("/search", query_string={"q": "order"}).status_code == 404
    assert browser.get("/search").status_code == 200


def test_a_long_thread_goes_on_elsewhere(world: World, alice: Caller, bob: Caller) -> None:
    for _ in range(21):
        (event,) = bob.publish(alice, correlation_id="order 7")
    browser = signed_in(world)
    browser.get(f"/events/{event['event_id']}")
    assert "Thread 20+ events" in browser.page.text
    (more,) = [one for one in browser.page.all("a") if one.text == "more of the thread"]
    browser.get(more.attributes["href"])
    assert "21 events, in the order of their making" in browser.page.text
