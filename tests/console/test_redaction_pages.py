"""What a tenant has redacted is kept from its operators on every page; and other parts of an event's page."""

from __future__ import annotations

from restante.identity.roles import Role
from tests.console.browsing import Browser, actions, signed_in
from tests.http.test_triage import poison
from tests.http.world import Caller, World, unknown_id

IBAN = "DE02120300000000202051"


def redacted(world: World, *paths: str) -> None:
    boss = world.service("acme", "boss", ["tenant:agents:write"])
    answer = boss.call("PATCH", "admin/tenant", json={"redacted_paths": list(paths)})
    assert (answer.status_code, answer.json["redacted_paths"]) == (200, sorted(paths))


def opened(browser: Browser, event_id: str) -> Browser:
    browser.get(f"/events/{event_id}")
    browser.send(f"/events/{event_id}/payload#payload")
    assert browser.answer.status_code == 200
    return browser


def test_an_operator_sees_the_rule_where_the_value_was(
    world: World, alice: Caller, bob: Caller
) -> None:
    redacted(world, "/customer/iban", "/lines/*/price")
    payload = {"customer": {"id": 7, "iban": IBAN}, "lines": [{"price": 41}, {"price": [42, {}]}]}
    (event,) = bob.publish(alice, payload=payload)
    browser = opened(signed_in(world), event["event_id"])
    assert IBAN not in browser.answer.text
    chips = [one.attributes["title"] for one in browser.page.all("span", **{"class": "redacted"})]
    assert chips == ["/customer/iban", "/lines/*/price", "/lines/*/price"]
    assert '"id": 7' in browser.page.one("pre").raw
    assert "42" not in browser.page.one("pre").raw
    assert "Download" not in browser.page.buttons()
    form = {"csrf": browser.token()}
    answer = browser.post(f"/events/{event['event_id']}/raw", form)
    assert (answer.status_code, IBAN in answer.text) == (403, False)
    assert actions(world)[-1] == ("request.refuse", "refused")
    admin = opened(
        signed_in(world, role=Role.TENANT_ADMIN, email="a@example.com"), event["event_id"]
    )
    assert IBAN in admin.page.one("pre").raw
    assert "Download" in admin.page.buttons()


def test_neither_an_editor_nor_a_result_shows_it(world: World, alice: Caller, bob: Caller) -> None:
    redacted(world, "/n")
    (event,) = poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"/events/{event}")
    assert not [one for one in browser.page.buttons() if one.startswith("Amend")]
    form = {"csrf": browser.token(), "step": "check", "payload": "{}"}
    answer = browser.post(f"/events/{event}/amend", form)
    assert (answer.status_code, "takes the role tenant admin" in answer.text) == (403, True)
    assert actions(world)[-1] == ("request.refuse", "refused")
    (done,) = bob.publish(alice)
    (held,) = alice.claim()
    settled = {"claim_generation": held["claim_generation"], "result": {"iban": IBAN}}
    assert alice.post(f"A/inbox/{done['event_id']}/ack", settled).status_code == 200
    browser.get(f"/events/{done['event_id']}")
    assert "A tenant admin may see it" in browser.page.text
    answer = browser.post(f"/events/{done['event_id']}/payload", {"csrf": browser.token()})
    assert IBAN not in answer.text
    admin = opened(
        signed_in(world, role=Role.TENANT_ADMIN, email="a@example.com"), done["event_id"]
    )
    assert admin.page.one("pre").raw == f'{{\n  "iban": "{IBAN}"\n}}'


def test_posts_are_redacted_as_their_events_are(world: World, alice: Caller, bob: Caller) -> None:
    redacted(world, "/content/iban")
    made = bob.post("rooms", {"project": "main", "name": "r", "members": [alice.id]}).json
    room = f"/rooms/{made['room_id']}"
    for content in ({"iban": IBAN, "n": 1}, IBAN):
        bob.post(f"rooms/{made['room_id']}/posts", {"content": content})
    browser = signed_in(world)
    browser.get(room)
    browser.send(f"{room}/posts#posts")
    said = [one.raw for one in browser.page.all("pre", **{"class": "said"})]
    assert said == [f'"{IBAN}"', '{\n  "iban": redacted,\n  "n": 1\n}']


def test_the_line_that_the_error_names_is_marked(world: World, alice: Caller, bob: Caller) -> None:
    (event,) = bob.publish(alice, payload={"lines": [{"a": 1}, {"b": 2}]})
    (held,) = alice.claim()
    refusal = {"claim_generation": held["claim_generation"], "reason": "no currency at /lines/1"}
    alice.post(f"A/inbox/{event['event_id']}/reject", refusal)
    browser = opened(signed_in(world), event["event_id"])
    (line,) = browser.page.all("span", **{"class": "text points"})
    assert line.raw == "    {"


def test_an_event_is_cancelled_with_a_reason(world: World, alice: Caller, bob: Caller) -> None:
    browser = signed_in(world)
    (waits,), (later,) = bob.publish(alice), bob.publish(alice, delay_seconds=600)
    for one in (waits, later):
        path = f"/events/{one['event_id']}"
        browser.get(path)
        browser.send(f"{path}/cancel", why="")
        assert browser.answer.status_code == 422
        browser.send(f"{path}/cancel", why="ordered twice")
        assert browser.answer.headers["Location"] == path
        assert actions(world)[-1] == ("event.cancel", "done")
        assert alice.get(f"A/inbox/{one['event_id']}").json["status"] == "cancelled"
        form = {"csrf": browser.token(), "why": "again"}
        assert browser.post(f"{path}/cancel", form).status_code == 409
    world.tenant("rival", "main")
    (mine,) = bob.publish(alice)
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    form = {"csrf": rival.token(), "why": "theirs"}
    for named in (mine["event_id"], unknown_id("evt"), "x"):
        assert rival.post(f"/events/{named}/cancel", form).status_code == 404
    assert alice.get(f"A/inbox/{mine['event_id']}").json["status"] == "pending"


def test_failures_alike_are_told_as_one_and_causes_come_before_what_they_caused(
    world: World, alice: Caller, bob: Caller
) -> None:
    (first,) = bob.publish(alice, correlation_id="c")
    (second,) = bob.publish(bob, correlation_id="c", causation_id=first["event_id"])
    for _ in range(3):
        (held,) = alice.claim(limit=1)
        error = {"code": "E_X", "message": "no field", "outcome": "none"}
        said = {"claim_generation": held["claim_generation"], "error": error, "delay_seconds": 0}
        alice.post(f"A/inbox/{first['event_id']}/release", said)
    browser = signed_in(world)
    browser.get(f"/events/{first['event_id']}")
    story = browser.page.one("ol", **{"class": "story"})
    told = [one.text for one in story.all("strong")]
    assert told[2] == "3 times: attempt failed: E_X"
    assert story.all("span", **{"class": "chip"})[0].text == "gen 1\N{EN DASH}3"
    assert story.one("blockquote").text == "no field"
    thread = browser.page.one("ol", **{"class": "thread"}).all("a")
    assert [(a.attributes["href"], a.attributes.get("class")) for a in thread] == [
        (f"/events/{first['event_id']}", None),
        (f"/events/{second['event_id']}", "d1"),
    ]
    browser.get(f"/events/{second['event_id']}")
    assert [a for a in browser.page.all("a") if a.text == first["event_id"]]
