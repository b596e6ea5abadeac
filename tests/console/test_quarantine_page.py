"""Quarantine in the console: causes, a dry run, a job, and what is done to whom picked what."""

from __future__ import annotations

import pytest

from blueprints.console import triage
from restante.identity.roles import Role
from tests.console.browsing import Browser, audited, signed_in
from tests.http.test_triage import poison, work_off
from tests.http.world import Caller, World, verbs

REDRIVE, DISCARD = "/quarantine/redrive", "/quarantine/discard"


def links(browser: Browser, start: str) -> list[str]:
    """Where links of the page that begin like this lead."""
    found = [a.attributes["href"] for a in browser.page.all("a")]
    return [href for href in found if href.startswith(start)]


def sums(browser: Browser) -> dict[str, str]:
    """The figures of a dry run or a job."""
    lists = browser.page.all("dl", **{"class": "sums"})
    names, values = ([e for one in lists for e in one.all(tag)] for tag in ("dt", "dd"))
    return {name.text: value.text for name, value in zip(names, values, strict=True)}


def test_an_empty_quarantine_says_what_comes_here(world: World) -> None:
    browser = signed_in(world)
    browser.get("/quarantine")
    assert "Quarantine is empty" in browser.page.text
    assert "attempts are used up" in browser.page.text
    assert links(browser, REDRIVE) == []
    browser.get("/quarantine?code=E_NONE")
    assert "Nothing lies here with code E_NONE" in browser.page.text
    assert "/quarantine" in links(browser, "/quarantine")


def test_a_wave_is_counted_put_back_and_watched(world: World, alice: Caller, bob: Caller) -> None:
    ids = poison(alice, bob, "no field 'a' in 17", "no field 'b' in 23", "else")
    browser = signed_in(world)
    browser.get("/quarantine")
    assert [one.text for one in browser.page.all("span", **{"class": "many most"})] == ["2 events"]
    assert [one.text for one in browser.page.all("span", **{"class": "many"})] == ["1 event"]
    trend = browser.page.all("svg", **{"class": "trend"})[0].attributes["aria-label"]
    assert trend.startswith("By hour of the last 24: 2 in all, at most 2")
    browser.get(links(browser, REDRIVE)[0])
    assert browser.heading == "Redrive 2 events"
    assert sums(browser) == {"would be redriven": "2"}
    assert browser.page.one("p", **{"class": "split"}).text == "alice"
    assert f"/events/{ids[0]}" in links(browser, "/events/")
    assert browser.page.one("main").buttons()[-1] == "Redrive 1, then 1Redrive 2 events"
    assert browser.send(REDRIVE, why="  ").status_code == 303
    browser.follow()
    assert browser.heading == "Redrive 2 events"
    assert "Say why" in browser.page.one("div", role="alert").text
    browser.send(REDRIVE, why="the schema has it now", way="now")
    assert browser.answer.status_code == 303
    job = browser.answer.headers["Location"]
    entry = audited(world)[-1]
    assert (entry.action, entry.reason) == ("event.redrive", "2 events: the schema has it now")
    browser.get(job)
    assert browser.page.one("div", id="progress").attributes["hx-trigger"] == "every 2s"
    assert "ops@example.com" in browser.page.text
    work_off(world)
    browser.get(f"{job}/progress")
    assert browser.page.all("html") == []
    assert "hx-trigger" not in browser.page.one("div", id="progress").attributes
    assert sums(browser)["redriven"] == "2 of 2"
    browser.get(job)
    assert "hx-get" not in browser.answer.text
    assert [e["event_id"] for e in alice.claim(limit=10)] == ids[:2]
    browser.get("/quarantine/jobs")
    assert "Redrive 2 done 2 of 2 ops@example.com the schema has it now" in browser.page.text


def test_only_what_was_counted_goes(world: World, alice: Caller, bob: Caller) -> None:
    poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get("/quarantine")
    browser.get(links(browser, REDRIVE)[0])
    world.pass_time(1)
    poison(alice, bob, "x")
    browser.send(REDRIVE, why="one was counted", way="now")
    work_off(world)
    browser.get(browser.answer.headers["Location"])
    assert sums(browser)["redriven"] == "1 of 1"


def test_where_one_that_was_counted_has_left_nothing_is_done(
    world: World, alice: Caller, bob: Caller
) -> None:
    ids = poison(alice, bob, "x", "x")
    browser, other = signed_in(world), signed_in(world, email="b@example.com")
    browser.get("/quarantine")
    browser.get(links(browser, REDRIVE)[0])
    other.get(f"{DISCARD}?event={ids[0]}")
    other.send(DISCARD, why="junk", typed="1")
    work_off(world)
    browser.send(REDRIVE, why="late", way="now")
    browser.follow()
    assert "no longer those that were counted" in browser.page.text
    assert browser.heading == "Redrive 1 event"
    assert alice.get(f"A/inbox/{ids[1]}").json["status"] == "quarantined"


def test_one_goes_first_unless_another_way_is_chosen(
    world: World, alice: Caller, bob: Caller
) -> None:
    ids = poison(alice, bob, "x", "x", "x")
    browser = signed_in(world)
    browser.get(f"{REDRIVE}?all=yes")
    assert browser.page.form(REDRIVE)["way"] == "first"
    assert browser.page.one("span", **{"class": "if-first"}).text == "Redrive 1, then 2"
    browser.send(REDRIVE, why="is it mended?")
    job = browser.answer.headers["Location"]
    assert audited(world)[-1].reason == "1, then 2 events: is it mended?"
    work_off(world)
    browser.get(job)
    assert "The other 2 follow once it is completed" in browser.page.text
    assert links(browser, "/events/") == [f"/events/{ids[0]}"]
    (event,) = alice.claim(limit=10)
    refusal = {"claim_generation": event["claim_generation"], "reason": "x"}
    alice.post(f"A/inbox/{ids[0]}/reject", refusal)
    world.pass_time(2)
    work_off(world)
    browser.get(job)
    assert "the first one failed again, so the rest stays in quarantine" in browser.page.text
    assert sums(browser)["kept back when it was stopped"] == "2"


def test_one_alone_is_not_followed_by_any(world: World, alice: Caller, bob: Caller) -> None:
    poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"{REDRIVE}?all=yes")
    browser.send(REDRIVE, why="is it mended?")
    job = browser.answer.headers["Location"]
    work_off(world)
    browser.get(job)
    assert "It went back. This ends once it is completed." in browser.page.text
    assert "follow" not in browser.page.one("div", id="progress").text


def test_a_way_that_is_none_is_refused(world: World, alice: Caller, bob: Caller) -> None:
    poison(alice, bob, "x", "x")
    browser = signed_in(world)
    browser.get(f"{REDRIVE}?all=yes")
    browser.send(REDRIVE, why="mended", way="nonsense")
    browser.follow()
    assert "Choose how they go" in browser.page.text
    assert browser.page.form(REDRIVE)["way"] == "first"
    assert browser.get("/quarantine/jobs").status_code == 200
    assert links(browser, "/quarantine/jobs/") == []


@pytest.mark.parametrize("action", [REDRIVE, DISCARD])
def test_a_form_that_is_sent_twice_makes_one_job(
    world: World, alice: Caller, bob: Caller, action: str
) -> None:
    poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"{action}?all=yes")
    form = {**browser.page.form(action), "why": "once", "typed": "1"}
    made = [browser.post(action, form).headers["Location"] for _ in range(2)]
    work_off(world)
    made.append(browser.post(action, form).headers["Location"])
    assert len(set(made)) == 1
    browser.get("/quarantine/jobs")
    assert links(browser, "/quarantine/jobs/") == made[:1]
    other = signed_in(world, email="b@example.com")
    other.get(f"{action}?code=none")
    other.post(action, {**form, "csrf": other.token()})
    other.follow()
    assert other.heading == "Quarantine is empty"


def test_a_discard_takes_the_number(world: World, alice: Caller, bob: Caller) -> None:
    ids = poison(alice, bob, "x", "y")
    browser = signed_in(world)
    browser.get(f"{DISCARD}?all=yes")
    assert "This cannot be undone" in browser.page.text
    browser.send(DISCARD, why="junk", typed="3")
    browser.follow()
    assert "not the number" in browser.page.one("div", role="alert").text
    assert alice.get(f"A/inbox/{ids[0]}").json["status"] == "quarantined"
    browser.send(DISCARD, why="junk", typed="2")
    work_off(world)
    assert {alice.get(f"A/inbox/{i}").json["status"] for i in ids} == {"cancelled"}


def test_a_job_is_stopped(
    world: World, alice: Caller, bob: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(triage.WAYS, "slow", 60.0)  # a second may pass meanwhile, and one more go
    poison(alice, bob, "x", "x", "x")
    browser = signed_in(world)
    browser.get(f"{REDRIVE}?all=yes")
    browser.send(REDRIVE, why="slowly", way="slow")
    job = browser.answer.headers["Location"]
    work_off(world)
    browser.get(job)
    browser.send(f"{job}/cancel")
    browser.get(job)
    assert sums(browser)["kept back when it was stopped"] == "2"
    assert "Stop, keep the rest" not in browser.page.buttons()


def test_events_are_paged_and_narrowed(world: World, alice: Caller, bob: Caller) -> None:
    poison(alice, bob, *("x" for _ in range(25)))
    browser = signed_in(world)
    browser.get("/quarantine/events?inbox=alice&project=main")
    assert len(browser.page.all("input", name="event")) == 20
    older = browser.page.one("a", rel="next")
    browser.get(f"/quarantine/events{older.attributes['href']}")
    assert len(browser.page.all("input", name="event")) == 5
    for other in ("inbox=nobody", "project=other", "reason=release_loop", "code=none", "cause=x"):
        browser.get(f"/quarantine/events?{other}")
        assert browser.page.all("input", name="event") == [], other
    assert browser.get("/quarantine/events?page=forged").status_code == 404


def test_wu_039_causes_and_jobs_of_others_are_as_those_that_never_were(
    world: World, alice: Caller, bob: Caller
) -> None:
    ids = poison(alice, bob, "x")
    mine = signed_in(world)
    mine.get("/quarantine")
    cause = links(mine, "/quarantine/causes/")[0]
    mine.get(f"{REDRIVE}?all=yes")
    mine.send(REDRIVE, why="mine", way="slow")
    job = mine.answer.headers["Location"]
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    rival.get("/quarantine")
    assert "Quarantine is empty" in rival.page.text
    paths = (cause, f"/quarantine/causes/{'0' * 32}")
    told = [(rival.get(path).status_code, rival.heading) for path in paths]
    assert told == [(404, "Nothing of it lies in quarantine")] * 2
    signature = cause.rpartition("/")[2]
    for action in (REDRIVE, DISCARD):
        assert rival.get(f"{action}?cause={signature}").status_code == 404
    for path in (job, f"{job}/progress", f"/quarantine/jobs/job_{'0' * 32}"):
        assert rival.get(path).status_code == 404
    form = {"csrf": rival.token(), "why": "theirs", "event": ids[0], "total": "1", "matched": "1"}
    assert rival.post(REDRIVE, form).status_code == 404
    assert rival.post(DISCARD, {**form, "typed": "1"}).status_code == 404
    assert rival.post(f"{job}/cancel", {"csrf": rival.token()}).status_code == 404
    assert rival.get("/quarantine/events?inbox=alice").status_code == 200
    assert rival.page.all("input", name="event") == []
    assert mine.get(job).status_code == 200
    assert "Stop, keep the rest" in mine.page.buttons()


@pytest.mark.parametrize("total", ["", "-1", "two", "99999999999"])
def test_a_form_without_its_count_does_nothing(
    world: World, alice: Caller, bob: Caller, total: str
) -> None:
    (event,) = poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"{REDRIVE}?all=yes")
    browser.send(REDRIVE, why="w", total=total)
    browser.follow()
    assert "so nothing was done" in browser.page.one("div", role="alert").text
    assert alice.get(f"A/inbox/{event}").json["status"] == "quarantined"


def test_what_would_run_late_goes_only_when_it_is_ticked(world: World) -> None:
    agent = world.agent("acme", "keyed", verbs("main"))
    world.service("acme", "ci", ["tenant:events:publish"]).publish(agent, ordering_key="k")
    (event,) = agent.claim()
    agent.post(
        f"A/inbox/{event['event_id']}/reject",
        {"claim_generation": event["claim_generation"], "reason": "r"},
    )
    agent.publish(agent, ordering_key="k")
    (later,) = agent.claim()
    agent.post(f"A/inbox/{later['event_id']}/ack", {"claim_generation": later["claim_generation"]})
    browser = signed_in(world)
    browser.get(f"{REDRIVE}?all=yes")
    assert sums(browser)["would be redriven"] == "0"
    browser.send(REDRIVE, why="late is right", way="now", force="yes")
    work_off(world)
    assert [e["event_id"] for e in agent.claim()] == [event["event_id"]]
