"""One agent in the console: its tabs, credentials made and revoked there, its memory, who did what to it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from joserfc.jwk import OKPKey
from sqlalchemy import insert

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import IN_PROCESS, Entry
from restante.identity.roles import Role
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, new_id
from restante.storage.tables.signals import node, open_stream
from tests.console.browsing import Browser, actions, audited, signed_in
from tests.console.well_made import check_light, check_made
from tests.http.callbacks import call_out_to, registered
from tests.http.world import Caller, World, unknown_id, verbs

TABS = ("in-flight", "streams", "grants", "credentials", "callbacks", "memory", "history")


@pytest.fixture
def admin(world: World) -> Browser:
    return signed_in(world, role=Role.TENANT_ADMIN)


def tab(browser: Browser, agent: Caller, name: str) -> str:
    """What the tab says; the page says that it is the one."""
    assert browser.get(f"/inboxes/{agent.id}/{name}").status_code == 200
    tabs = browser.page.one("nav", **{"class": "tabs"}).all("a")
    current = [a.attributes["href"] for a in tabs if a.attributes.get("aria-current") == "page"]
    assert current == [f"/inboxes/{agent.id}/{name}"]
    check_made(browser.page)
    check_light(browser.page)
    return str(browser.page.text)


def test_an_agent_with_nothing_has_pages_that_say_what_would_be_there(
    world: World, admin: Browser
) -> None:
    bare = world.agent("acme", "bare", verbs("main"))
    for name, said in (
        ("in-flight", "It holds nothing"),
        ("streams", "No stream is open"),
        ("callbacks", "It has no callback"),
        ("memory", "It remembers nothing yet"),
    ):
        assert said in tab(admin, bare, name), name
    assert "agent.create" in tab(admin, bare, "history")


def test_what_it_holds_is_shown_with_what_is_left_of_each_lease(
    world: World, admin: Browser, alice: Caller, bob: Caller
) -> None:
    for _ in range(2):
        bob.publish(alice)
    alice.claim(limit=1, consumer="laptop-a", lease_seconds=600)
    alice.claim(limit=1, lease_seconds=30)
    world.pass_time(27)
    text = tab(admin, alice, "in-flight")
    assert "laptop-a" in text
    assert "no name given" in text
    assert "its lease is over" not in text
    leases = {
        int(one.attributes["data-whole"]): (
            int(one.attributes["data-left"]),
            one.attributes.get("class"),
        )
        for one in admin.page.all("time")
        if "data-left" in one.attributes
    }
    assert set(leases) == {600, 30}
    assert 565 <= leases[600][0] <= 573
    assert leases[600][1] is None
    assert leases[30][1] == "late"
    rings = [one.attributes for one in admin.page.all("animate")]
    assert {one["dur"] for one in rings} == {f"{left}s" for left, _ in leases.values()}
    steps = {one["dur"]: one["values"].split(";") for one in rings}
    assert all(some[-1] == "0 100" for some in steps.values())
    assert len(steps[f"{leases[600][0]}s"]) == 31
    assert len(steps[f"{leases[30][0]}s"]) <= leases[30][0] + 1
    world.pass_time(60)
    assert "its lease is over" in tab(admin, alice, "in-flight")


def test_streams_are_those_of_processes_that_live(
    world: World, admin: Browser, alice: Caller
) -> None:
    def opened(session: Any) -> None:
        now, living, dead = database_now(session), new_id(), new_id()
        connection = session.connection()
        for one, seen_at in ((living, now), (dead, now.replace(year=2020))):
            connection.execute(insert(node).values(node_id=one, seen_at=seen_at))
            connection.execute(
                insert(open_stream).values(
                    stream_id=new_id(),
                    recipient_id=decode_id(Prefix.AGENT, alice.id),
                    node_id=one,
                    opened_at=now,
                )
            )

    world.house.database.run(opened)
    text = tab(admin, alice, "streams")
    assert len(admin.page.one("tbody").all("tr")) == 1
    assert "process" in text


def test_grants_and_callbacks_have_tabs_of_their_own(world: World, admin: Browser) -> None:
    one = world.agent("acme", "hooked", verbs("main", "read", "callback"))
    other = world.agent("acme", "other", verbs("main", "read", "callback"))
    call_out_to(world)
    registered(one, url="https://one.example.com/in")
    registered(other, url="https://other.example.com/in")
    text = tab(admin, one, "callbacks")
    assert "one.example.com" in text
    assert "other.example.com" not in text
    (review,) = admin.page.one("main").all("a", **{"class": "button"})
    assert review.text.startswith("Review one.example.com")
    assert "2 grants" in tab(admin, one, "grants")
    assert "read, callback" in admin.page.text
    assert admin.page.one("a", href=f"/scopes/{one.id}").text == "Edit in Scopes"


def test_a_new_secret_is_shown_once_and_lets_it_in(
    world: World, admin: Browser, alice: Caller
) -> None:
    base = f"/inboxes/{alice.id}/credentials"
    assert alice.secret not in tab(admin, alice, "credentials")
    answer = admin.send(f"{base}/secret")
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    told = admin.page.one("pre").raw
    secret = told.split()[-1]
    told_again = [admin.get(path).text for path in (base, f"/inboxes/{alice.id}/history")]
    assert all(secret not in text for text in told_again)
    assert secret not in str(audited(world))
    alice.secret = secret
    assert world.narrowed(alice, verbs("main", "read")).get("A/inbox").status_code == 200
    tab(admin, alice, "credentials")
    assert admin.send(f"{base}/secret").status_code == 409
    assert "moment ago" not in admin.page.text
    assert "Nothing was made." in admin.page.text


def test_a_public_key_is_registered_and_its_private_half_is_not_shown_again(
    world: World, admin: Browser, alice: Caller
) -> None:
    base = f"/inboxes/{alice.id}/credentials"
    key = OKPKey.generate_key("Ed25519")
    tab(admin, alice, "credentials")
    answer = admin.send(f"{base}/key", public_jwk=json.dumps(key.as_dict(private=False)))
    assert answer.status_code == 303
    admin.get(answer.headers["Location"])
    assert "public key Ed25519" in admin.page.text
    private = key.as_dict(private=True)
    for wrong, said in (
        ("", "That is no JSON object"),
        ("[1]", "That is no JSON object"),
        (json.dumps(private), "The key "),
        (json.dumps(key.as_dict(private=False)), "is registered already"),
        ("{" * 5000, "That is no JSON object"),
    ):
        tab(admin, alice, "credentials")
        assert admin.send(f"{base}/key", public_jwk=wrong).status_code == 422, wrong[:20]
        assert said in admin.page.text
        assert str(private["d"]) not in admin.answer.text


def test_a_credential_that_is_revoked_is_over(world: World, admin: Browser, alice: Caller) -> None:
    base = f"/inboxes/{alice.id}/credentials"
    tab(admin, alice, "credentials")
    (action,) = {
        one.attributes["action"]
        for one in admin.page.all("form")
        if one.attributes.get("action", "").endswith("/revoke")
    }
    assert admin.send(action).headers["Location"] == base
    assert actions(world)[-1] == ("credential.revoke", "done")
    assert "None is good now" in tab(admin, alice, "credentials")
    world.house.authority.expire(decode_id(Prefix.AGENT, alice.id))
    assert alice.get("A/inbox").status_code == 401


def test_memory_is_listed_by_key_and_a_value_is_shown_when_asked_for(
    world: World, admin: Browser, alice: Caller
) -> None:
    for number in range(30):
        body = {"value": {"n": number, "secret": "plum"}}
        assert alice.call("PUT", f"A/memory/main/k{number:02}", json=body).status_code == 200
    alice.call("DELETE", "A/memory/main/k07")
    text = tab(admin, alice, "memory")
    assert "plum" not in admin.answer.text
    keys = []
    while True:
        keys += [one.text for one in admin.page.all("th", scope="row")]
        more = admin.page.all("a", rel="next")
        if not more:
            break
        assert admin.get(more[0].attributes["href"]).status_code == 200
    assert keys == ["k07", *(f"k{n:02}" for n in range(29, -1, -1) if n != 7)]
    assert "deleted" in text
    before = len(audited(world))
    admin.get(f"/inboxes/{alice.id}/memory?key=k03&project=main")
    assert [one.text for one in admin.page.all("th", scope="row")] == ["k03"]
    assert len(audited(world)) == before
    admin.send(f"/inboxes/{alice.id}/memory#value")
    assert '"secret": "plum"' in admin.page.one("pre").raw
    entry = audited(world)[-1]
    assert (entry.action, entry.target) == ("payload.read", alice.id)
    assert entry.reason == "memory of main: k03"
    for none in ({"of": "main", "shown": "k07"}, {"of": "main", "shown": "x"}, {"of": "x"}):
        form = {"csrf": admin.token(), **none}
        assert admin.post(f"/inboxes/{alice.id}/memory", form).status_code == 404, none
    assert admin.get(f"/inboxes/{alice.id}/memory?page=forged").status_code == 404
    admin.get(f"/inboxes/{alice.id}/memory?key=none")
    assert "It remembers nothing under none" in admin.page.text


def test_what_was_done_to_it_is_told_with_who_and_why(
    world: World, admin: Browser, alice: Caller
) -> None:
    admin.get(f"/inboxes/{alice.id}")
    admin.send(f"/inboxes/{alice.id}/pause")
    tab(admin, alice, "history")
    first = admin.page.one("tbody").all("tr")[0].text
    assert first.startswith("agent.pause ops@example.com")


def test_what_was_refused_says_so_on_a_small_screen_too(
    world: World, admin: Browser, alice: Caller
) -> None:
    refused = Entry(
        world.tenants["acme"], IN_PROCESS, Action.AGENT_PAUSE, alice.id, Outcome.REFUSED
    )
    world.house.database.run(lambda s: record(s, refused))
    tab(admin, alice, "history")
    rows = [row.all("td") for row in admin.page.one("tbody").all("tr")]
    told = [(row[2].text, "wide" in row[2].attributes.get("class", "")) for row in rows]
    assert told[:2] == [("refused", False), ("done", True)], "what is wide is not on a small one"


def test_who_has_not_just_proved_who_he_is_changes_no_credential(
    world: World, admin: Browser, alice: Caller
) -> None:
    base = f"/inboxes/{alice.id}/credentials"
    token = admin.token()
    world.pass_time(601)
    tab(admin, alice, "credentials")
    assert not [b for b in admin.page.buttons() if b.startswith(("Make", "Register", "Revoke"))]
    assert admin.page.one("a", href=f"/sign-in/again?next={base}")
    for act in ("secret", "key", f"{unknown_id('key')}/revoke"):
        answer = admin.post(f"{base}/{act}", {"csrf": token})
        assert answer.headers["Location"].startswith("/sign-in/again"), act
    assert ("credential.create", "done") not in actions(world)[-3:]


def test_wu_038_an_operator_reads_all_of_it_and_changes_no_credential(
    world: World, alice: Caller
) -> None:
    browser = signed_in(world)
    for name in TABS:
        tab(browser, alice, name)
    tab(browser, alice, "credentials")
    assert "You may look at this, a tenant admin may change it." in browser.page.text
    assert not [f for f in browser.page.all("form") if alice.id in f.attributes.get("action", "")]
    form = {"csrf": browser.token()}
    for act in ("secret", "key", f"{unknown_id('key')}/revoke"):
        answer = browser.post(f"/inboxes/{alice.id}/credentials/{act}", form)
        assert answer.status_code == 403, act
    platform = signed_in(world, tenant=None, role=Role.PLATFORM_ADMIN, email="p@example.com")
    for name in TABS:
        assert platform.get(f"/inboxes/{alice.id}/{name}").status_code == 403, name


def test_wu_039_agents_of_others_are_as_those_that_never_were(
    world: World, admin: Browser, alice: Caller
) -> None:
    alice.call("PUT", "A/memory/main/k", json={"value": 1})
    tab(admin, alice, "credentials")
    credential = admin.page.one("tbody").all("code")[0].text
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    form = {"csrf": rival.token(), "of": "main", "shown": "k", "public_jwk": "{}"}
    before = actions(world)
    for agent_id in (alice.id, unknown_id("agt"), "x"):
        for name in TABS:
            assert rival.get(f"/inboxes/{agent_id}/{name}").status_code == 404, name
        revoke = f"credentials/{credential}/revoke"
        for act in ("memory", "credentials/secret", "credentials/key", revoke):
            assert rival.post(f"/inboxes/{agent_id}/{act}", form).status_code == 404, act
    assert actions(world) == before
    bob = world.agent("acme", "bob", verbs("main"))
    admin.post(f"/inboxes/{bob.id}/credentials/{credential}/revoke", {"csrf": admin.token()})
    assert admin.answer.status_code == 404
