"""The overview: what needs somebody, worst first, and that quiet is said to be quiet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import update

from restante.identity.roles import Role
from restante.inbox.fire import BURNS, MANY
from restante.inbox.growth import AGO, LEAST
from restante.sampling.series import RANGES
from restante.storage.tables.identity import principal
from tests.console.browsing import Browser, signed_in
from tests.http.test_triage import poison
from tests.http.world import Caller, World, verbs
from workers.history import History
from workers.sampler import Sampler


def needs(browser: Browser) -> list[str]:
    found = browser.page.all("ol", **{"class": "needs"})
    return [one.one("strong").text for one in found[0].all("li")] if found else []


def figures(browser: Browser) -> dict[str, str]:
    found = browser.page.one("dl", **{"class": "figures"})
    names = found.all("dt")
    values = [one for one in found.all("dd") if "data-figure" in one.attributes]
    return {name.text: value.text for name, value in zip(names, values, strict=True)}


def test_a_quiet_tenant_is_told_so(world: World) -> None:
    browser = signed_in(world)
    browser.get("/overview")
    assert "Nothing needs you" in browser.page.text
    assert needs(browser) == []
    assert figures(browser)["Pending"] == "0"
    marks = [one.one("span") for one in browser.page.one("dl", **{"class": "figures"}).all("dt")]
    assert {one.attributes["class"] for one in marks} == {""}, "no colour where nothing is"
    assert "as table" not in browser.page.text
    assert "(!)" not in browser.page.one("title").text


def test_the_worst_comes_first_each_with_its_next_step(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "x", "x", "another")
    for _ in range(2):
        bob.publish(alice)
    alice.publish(bob)
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    browser.get(f"/inboxes/{bob.id}")
    browser.send(f"/inboxes/{bob.id}/pause")
    browser.get("/overview")
    assert needs(browser) == [
        "2 events quarantined by one cause",
        "1 event quarantined by one cause",
        "alice is away with mail waiting",
        "bob is paused and keeps receiving",
    ]
    assert figures(browser) | {"Oldest pending": ""} == {
        "Pending": "3",
        "Oldest pending": "",
        "In flight": "0",
        "Quarantined": "3",
        "Leases ended": "0",
        "Delivery, p50": "\u2013",
    }
    links = [a.attributes["href"] for a in browser.page.all("a", **{"class": "button"})]
    for link in links:
        assert browser.get(link).status_code == 200, link
    browser.get(f"/inboxes/{bob.id}")
    browser.send(f"/inboxes/{bob.id}/disable")
    browser.get("/overview")
    assert needs(browser)[-1] == "bob cannot sign in, and has mail"


def leads(browser: Browser, begins: str) -> str:
    """Where the next step of that need leads."""
    (one,) = [
        line
        for line in browser.page.one("ol", **{"class": "needs"}).all("li")
        if line.one("strong").text.startswith(begins)
    ]
    return one.all("a")[-1].attributes["href"]


def test_a_full_a_growing_and_an_abandoned_inbox_are_told_of(
    world: World, alice: Caller, bob: Caller
) -> None:
    database = world.house.database
    limit = update(principal).where(principal.c.name == "bob").values(max_pending=LEAST + 20)
    database.run(lambda s: s.connection().execute(limit))
    alice.publish(bob)
    bob.claim(limit=1, lease_seconds=30)
    alice.publish(bob)
    world.pass_time(31)
    assert bob.get("A/inbox/stats").json["pending"] == 2
    Sampler(database).run_once()
    world.pass_time(AGO.total_seconds() + 5)
    assert bob.get("A/inbox/stats").json["claimable"] == 2
    one = {"recipients": [bob.id], "project": "main", "type": "note", "payload": {}}
    assert alice.post("events", {"events": [one] * LEAST}).status_code == 201
    Sampler(database).run_once()
    browser = signed_in(world)
    browser.get("/overview")
    assert needs(browser) == [
        "bob is about to be full",
        "bob is falling behind",
        "1 lease ended and nobody has taken the work up",
        "bob is away with mail waiting",
    ]
    assert "102 of 120" in browser.page.one("ol", **{"class": "needs"}).text
    assert (
        leads(browser, "bob is about") == leads(browser, "bob is falling") == f"/inboxes/{bob.id}"
    )
    browser.get(leads(browser, "1 lease"))
    assert "1/5" in browser.page.text


def test_several_are_shown_by_a_table_of_them_alone_the_deepest_first(
    world: World, alice: Caller, bob: Caller
) -> None:
    world.agent("acme", "carol", verbs("main"))
    alice.publish(bob)
    for _ in range(2):
        bob.publish(alice)
    Sampler(world.house.database).run_once()
    world.pass_time(3_600)
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    for state, begins in (
        ("away_with_mail", "2 agents are away"),
        ("paused", "2 agents are paused"),
    ):
        if state == "paused":
            for agent in (alice, bob):
                browser.get(f"/inboxes/{agent.id}")
                browser.send(f"/inboxes/{agent.id}/pause")
        browser.get("/overview")
        assert leads(browser, begins) == f"/inboxes?state={state}&sort=pending"
        browser.get(leads(browser, begins))
        found = [one.text for one in browser.page.all("th", scope="row")]
        assert found == ["alice", "bob"]


def test_wu_039_another_tenants_trouble_is_not_told(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "x")
    bob.publish(alice)
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    rival.get("/overview")
    assert "Nothing needs you" in rival.page.text
    assert "alice" not in rival.page.text
    assert figures(rival)["Quarantined"] == "0"


def test_a_fire_is_told_on_other_pages_until_it_is_out(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, *["x"] * MANY)
    browser = signed_in(world, role=Role.TENANT_ADMIN)

    def told(path: str) -> tuple[bool, str]:
        browser.get(path)
        title = browser.page.one("title").text
        return title.startswith("(!)"), browser.page.one("aside", id="fire").text

    burns, line = told("/inboxes")
    assert burns
    assert line.startswith(f"{MANY} events quarantined by one cause since ")
    assert "still rising. Triage it" in line
    link = browser.page.one("aside", id="fire").one("a").attributes["href"]
    for path in ("/overview", "/quarantine", link):
        assert told(path) == (True, ""), path  # about that very fire
    world.pass_time(90)
    assert "rising" not in told("/inboxes")[1]
    world.pass_time(BURNS.total_seconds())
    assert told("/inboxes") == (False, "")
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com")
    rival.get("/inboxes")
    assert rival.page.one("aside", id="fire").text == ""


@pytest.mark.parametrize("name", RANGES)
def test_history_is_shown_as_charts_and_as_tables(
    world: World, alice: Caller, bob: Caller, name: str
) -> None:
    database = world.house.database
    for seconds in (0, 60):
        world.pass_time(seconds)
        alice.publish(bob)
        (event,) = bob.claim(limit=1)
        settled = {"claim_generation": event["claim_generation"]}
        assert bob.post(f"A/inbox/{event['event_id']}/ack", settled).status_code == 200
        History(database, world.house.tally).run_once()
        Sampler(database).run_once()
    browser = signed_in(world)
    browser.get(f"/overview?range={name}")
    charts = browser.page.all("figure", role="img")
    assert [one.attributes["aria-label"].split(" over ")[0] for one in charts] == [
        "Arrivals and completions a minute",
        "Delivery latency",
    ]
    assert figures(browser)["Delivery, p50"].endswith(("ms", "s"))
    legends = [one.text for one in browser.page.all("p", **{"class": "legend"})]
    assert [one.startswith("last ") for one in legends] == [True, True]
    assert ["known, per minute" in one for one in legends] == [True, False]
    browser.get(f"/overview?range={name}&view=table")
    assert not browser.page.all("figure")
    for table in browser.page.all("table"):
        assert len(table.one("tbody").all("tr")) == RANGES[name].length // RANGES[name].step
        assert len(table.all("caption")) == 1


def test_all_that_needs_somebody_is_one_press_away_from_the_worst(
    world: World, alice: Caller, bob: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("blueprints.console.overview.MOST_NEEDS", 2)
    poison(alice, bob, "x", "y")
    bob.publish(alice)
    browser = signed_in(world)
    browser.get("/overview?range=6h")
    worst = needs(browser)
    assert len(worst) == 2
    (more,) = [one for one in browser.page.all("a") if "needs=all" in one.attributes["href"]]
    assert (more.text, "range=6h" in more.attributes["href"]) == ("all 3", True)
    browser.get(more.attributes["href"])
    assert needs(browser) == [*worst, "alice is away with mail waiting"]
    (back,) = [one for one in browser.page.all("a") if one.text == "the worst alone"]
    assert back.attributes["href"] == "/overview?range=6h"


def test_the_overview_counts_nothing_twice(
    world: World, alice: Caller, bob: Caller, counted: Callable[[], Any]
) -> None:
    poison(alice, bob, "x")
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    with counted() as statements:
        browser.get("/overview")
    counts = [one for one in statements if "count(" in one and "read_cursor" not in one]
    told = {
        table: sum(f"FROM {table} " in one for one in counts)
        for table in ("assignment", "callback")
    }
    assert told == {"assignment": 1, "callback": 2}, "those to approve, and those suspended"
    failures = [one for one in statements if "FROM event_failure" in one]
    assert 0 < len(failures) == len(set(failures))
