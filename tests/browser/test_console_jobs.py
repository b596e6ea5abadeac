"""What operators do, from the page to the database row, in a browser with scripts: one house for all."""

from __future__ import annotations

import http.client
import json
import re
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from restante.identity.roles import Role
from tests.browser.furnished import TENANT, Furnished, furnished, publications, send
from tests.support.chromium import STEP_MILLISECONDS
from tests.support.databases import create_empty
from tests.support.session import known_url

pytestmark = pytest.mark.timeout(400)
WAVE = 5_000
WAVE_MILLISECONDS = 300_000
INDIA = timezone(timedelta(hours=5, minutes=30))


@pytest.fixture(scope="module")
def house(worker_folder: Path, worker_name: str) -> Iterator[Furnished]:
    """Served on MySQL where the run has it."""
    kind = next(one for one in ("mysql", "mariadb", "sqlite") if one == "sqlite" or known_url(one))
    url = create_empty(kind, f"restante_{worker_name}_jobs", worker_folder)
    with furnished(url, worker_folder, poison=WAVE) as one:
        yield one


@pytest.fixture
def page(browser: Browser, house: Furnished) -> Iterator[Page]:
    """A tenant admin's; what its policy forbids and what its scripts trip over fails the test."""
    how = {"viewport": {"width": 1440, "height": 900}, "timezone_id": "Asia/Kolkata"}
    context = house.context(browser, Role.TENANT_ADMIN, **how)
    context.set_default_timeout(STEP_MILLISECONDS)
    expect.set_options(timeout=STEP_MILLISECONDS)
    one = context.new_page()
    told: list[str] = []
    thrown: list[str] = []
    one.on("pageerror", lambda error: thrown.append(str(error)))
    one.on("console", lambda message: told.append(message.text))
    yield one
    context.close()
    assert [text for text in told if "Content Security Policy" in text] == []
    assert thrown == []


def status(house: Furnished, path: str) -> Any:
    """What the API says."""
    assert house.boss is not None
    answer = house.boss.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json


def test_a_wave_of_five_thousand_is_put_back(house: Furnished, page: Page) -> None:
    page.goto("/overview")
    expect(page).to_have_title(re.compile(r"^\(!\) Overview"))
    page.locator("#needs").get_by_role("link", name="Triage").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("E_SCHEMA")
    page.get_by_role("link", name="Redrive all").click()
    expect(page.locator(".sums")).to_contain_text(f"{WAVE:,}")
    page.get_by_label("All at once").check()
    page.get_by_label("Why").fill("the field is there now")
    page.get_by_role("button", name=f"Redrive {WAVE:,} events").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{WAVE:,}")
    expect(page.get_by_text("Done")).to_be_visible(timeout=WAVE_MILLISECONDS)  # without a reload
    left = status(house, "admin/quarantine?limit=1")
    assert sum(group["count"] for group in left["groups"]) == 3
    clerk = house.agents["invoice-reconciler"]
    assert clerk.get("A/inbox/stats").json["pending"] >= WAVE


def test_callbacks_are_approved_and_refused(house: Furnished, page: Page) -> None:
    for name, button, after in (
        ("wanted", "Approve for notify", "active"),
        ("unwanted", "Reject this callback", "rejected"),
    ):
        callback_id = house.ids[name]
        page.goto(f"/callbacks/{callback_id}")
        page.get_by_label("Reason").fill("asked their owner")
        if after == "rejected":
            page.get_by_text("Reject…", exact=True).click()
            expect(page.get_by_text("no operator can undo that")).to_be_visible()
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.locator("#way [aria-current=step]")).to_contain_text(after)
        found = status(house, f"admin/callbacks?status={after}")["callbacks"]
        assert callback_id in [one["callback_id"] for one in found]


def test_scopes_are_given_and_taken_and_the_stream_closes(house: Furnished, page: Page) -> None:
    planner = house.agents["route-planner"]
    stream = http.client.HTTPConnection("127.0.0.1", house.served.port, timeout=60)
    headers = {"Authorization": f"Bearer {planner.token}"}
    stream.request("GET", f"/api/v1/agents/{planner.id}/subscribe", headers=headers)
    lines = stream.getresponse()
    assert lines.status == 200
    page.goto(f"/scopes/{planner.id}")
    row = page.get_by_role("row").filter(has_text="dispatch")
    for box in row.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("row").filter(has_text="research").get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Preview changes").click()
    page.get_by_label("Why").fill("another team plans routes")
    page.get_by_role("button", name=re.compile("^Apply")).click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    while (line := lines.readline()) and b"revoked" not in line:
        assert b"reconnect" not in line
    assert line, "the stream ended without a word"
    stream.close()
    page.goto(f"/inboxes/{planner.id}/grants")
    expect(page.locator("main")).to_contain_text("research")
    expect(page.locator("main")).not_to_contain_text("dispatch")


def test_an_agent_is_let_in_by_a_code_and_claims_its_mail(house: Furnished, page: Page) -> None:
    agent = house.agents["translator-eu"]

    def said(path: str, **form: str) -> Any:
        body = urlencode({"client_id": agent.id, **form}).encode()
        try:
            with urllib.request.urlopen(f"{house.served.url}{path}", body) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return json.load(error)

    device = said("/oauth/device_authorization")
    page.goto(device["verification_uri_complete"])
    page.get_by_role("button", name="Look it up").click()
    page.get_by_label("It shows exactly this code").check()
    page.get_by_role("button", name="Approve this device").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("may log in on this device")
    grant = "urn:ietf:params:oauth:grant-type:device_code"
    told = said("/oauth/token", grant_type=grant, device_code=device["device_code"])
    agent.token = told["access_token"]
    assert agent.claim(limit=1)


def test_one_event_is_found_and_followed(house: Furnished, page: Page) -> None:
    event_id = house.ids["event_id"]
    page.goto("/inboxes")
    page.keyboard.press("/")
    page.keyboard.type(event_id)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(event_id))
    expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
    expect(page.locator("main")).to_contain_text("Published by")
    page.get_by_role("button", name="Show the payload").click()
    expect(page.locator("main")).to_contain_text("amount")
    page.goto("/audit")
    expect(page.locator("tbody tr").first).to_contain_text("payload.read")


def test_pages_keep_up_to_date_and_say_when_they_cannot(house: Furnished, page: Page) -> None:
    assert house.boss is not None
    agent = house.agents["report-writer"]
    page.goto("/inboxes")
    row = page.get_by_role("row").filter(has_text="report-writer")
    before = int(row.locator("td").nth(1).inner_text().split()[0])
    send(house.boss, publications(agent, "research", "late", 7))
    expect(row.locator("td").nth(1)).to_contain_text(str(before + 7))
    another = house.world.agent(TENANT, "another-one", ["agent:research:read"])
    newer = page.get_by_role("button", name="Something newer arrived while you were reading")
    send(house.boss, publications(agent, "research", "late", 1))
    expect(newer).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="another-one")).to_have_count(0)
    page.keyboard.press("n")
    expect(page.get_by_role("row").filter(has_text="another-one")).to_have_count(1)
    page.goto(f"/inboxes/{another.id}")
    expect(page.locator("#events")).to_contain_text("Nothing waits here")
    send(house.boss, publications(another, "research", "late", 1))
    expect(page.locator("#events tbody tr")).to_have_count(1)
    expect(page.locator("#read")).to_contain_text("head 1")
    page.context.set_offline(True)
    send(house.boss, publications(agent, "research", "late", 1))
    expect(page.get_by_text("Asking again every 10 s")).to_be_visible()
    page.context.set_offline(False)
    expect(page.get_by_text("Asking again every 10 s")).to_be_hidden()


def test_keys_lead_somewhere_and_times_are_local_if_one_likes(house: Furnished, page: Page) -> None:
    page.goto("/overview")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page).to_have_url(re.compile("/inboxes$"))
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/inboxes/agt_"))
    page.goto(f"/events/{house.ids['event_id']}")
    expect(page.locator("#story [data-zone]")).to_have_text("UTC")
    page.keyboard.press("t")
    expect(page.locator("#clock [value=local]")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(page.locator("#clock [value=local]")).to_have_attribute("aria-pressed", "true")
    for path in (f"/events/{house.ids['event_id']}", "/audit", f"/callbacks/{house.ids['wanted']}"):
        page.goto(path)
        times = page.locator("main time[data-at]:not([data-at=date])").all()
        assert times, path
        for one in times:
            at = datetime.fromisoformat(one.get_attribute("datetime") or "")
            expect(one).to_contain_text(at.astimezone(INDIA).strftime("%H:%M"))
    page.keyboard.press("t")
    page.goto(f"/events/{house.ids['event_id']}")
    expect(page.locator("#story [data-zone]")).to_have_text("UTC")


def test_what_is_left_of_a_lease_steps_down_where_it_stands(house: Furnished, page: Page) -> None:
    """The words by a script, the ring by itself; nobody who wants no motion has one."""
    agent = house.agents["night-batch"]
    agent.claim(limit=1, lease_seconds=62, consumer="steps")
    page.clock.install()
    page.goto(f"/inboxes/{agent.id}/in-flight")
    lease = page.locator(".lease").first
    words, ring = lease.locator("time"), lease.locator("svg")
    before, where = words.inner_text(), (lease.bounding_box(), words.bounding_box())
    page.clock.run_for(4_000)
    assert words.inner_text() != before
    assert (lease.bounding_box(), words.bounding_box()) == where
    arcs = [
        ring.evaluate(
            "(one, at) => { one.pauseAnimations(); one.setCurrentTime(at);"
            " return getComputedStyle(one.lastElementChild).strokeDasharray; }",
            seconds,
        )
        for seconds in (0, 30, 62)
    ]
    shares = [float(arc.partition("px")[0]) for arc in arcs]
    assert shares[0] > shares[1] > shares[2] == 0
    page.emulate_media(reduced_motion="reduce")
    expect(ring).to_be_hidden()
    expect(words).to_be_visible()


def test_one_of_two_tabs_has_the_stream_and_both_hear(house: Furnished, page: Page) -> None:
    assert house.boss is not None
    page.goto("/overview")
    asked: list[str] = []
    other = page.context.new_page()
    other.on("request", lambda request: asked.append(request.url))
    other.goto("/overview")
    pending = other.locator("[data-figure=pending]")
    before = pending.inner_text()
    send(house.boss, publications(house.agents["report-writer"], "research", "late", 3))
    expect(pending).not_to_have_text(before)
    assert not [url for url in asked if url.endswith("/live")]
    with other.expect_request(re.compile("/live$")):
        page.close()


def test_a_stream_that_never_answers_is_told_of(house: Furnished, page: Page) -> None:
    page.route(re.compile("/live$"), lambda _: None)
    page.clock.install()
    page.goto("/overview")
    for hidden in (page.locator("#live"), page.locator("#lost")):
        expect(hidden).to_be_hidden()
    page.clock.fast_forward(10_000)
    expect(page.locator("#lost")).to_be_visible()
    expect(page.locator("#live")).to_be_hidden()


def test_keys_lead_to_the_page_after_and_to_the_first(house: Furnished, page: Page) -> None:
    page.goto("/events")
    page.keyboard.press("]")
    page.wait_for_url(re.compile("page="))
    page.keyboard.press("[")
    page.wait_for_url(re.compile("/events$"))


def test_long_words_make_no_page_wider_than_a_phone(house: Furnished, page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    agent = house.agents["route-planner"].id
    for path, where in (
        (f"/callbacks/{house.ids['wanted']}", ".facts-line code"),
        (f"/inboxes/{agent}/remove", "label[for=typed] b"),
    ):
        page.goto(path)
        page.locator(where).first.evaluate("one => { one.textContent = 'w'.repeat(900); }")
        assert page.evaluate("document.documentElement.scrollWidth") == 360
