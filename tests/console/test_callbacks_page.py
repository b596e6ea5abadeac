"""Callbacks in the console: what waits comes first; what is decided there, by whom, and what it shows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from restante.egress.refusal import Cause
from restante.identity.roles import Role
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.callbacks import callback, callback_attempt, callback_secret
from tests.console.browsing import Browser, actions, audited, signed_in
from tests.console.hooked import Hooked, hooked_in
from tests.http.callbacks import SECRET, call_out_to, register, registered
from tests.http.world import World, unknown_id

STEPS = ("approve", "reject", "suspend", "resume", "challenge", "secret")


@pytest.fixture
def hooked(world: World) -> Hooked:
    return hooked_in(world)


def stations(browser: Browser) -> list[tuple[str, str]]:
    """(title, mark) of the way, and which of them is the current step."""
    way = browser.page.one("ol", **{"aria-label": "State"})
    current = [one for one in way.all("li") if one.attributes.get("aria-current") == "step"]
    assert len(current) == 1
    follow_the_switch = [one for one in way.all("time") if "data-at" in one.attributes]
    assert 0 < len(follow_the_switch) == way.text.count("UTC")
    return [(one.all("b")[0].text, one.attributes["class"]) for one in way.all("li")]


def test_what_waits_for_approval_comes_first_and_is_the_rails_number(hooked: Hooked) -> None:
    hosts = [f"https://h{n}.example.com/in" for n in range(3)]
    first, second, third = (registered(hooked.agent, url=url, mode="notify") for url in hosts)
    hooked.does(first, "approve")
    hooked.admin.get("/callbacks")
    shown = [[r.text for r in t.all("th", scope="row")] for t in hooked.admin.page.all("table")]
    assert shown == [["h1.example.com", "h2.example.com"], ["h0.example.com"]]
    rail = hooked.admin.page.one("nav", **{"aria-label": "Console"})
    assert rail.one("a", href="/callbacks").text == "Callbacks 2 to approve"
    hooked.admin.get("/callbacks?state=active")
    assert [row.text for row in hooked.admin.page.all("th", scope="row")] == ["h0.example.com"]
    hooked.admin.get("/callbacks?state=suspended")
    assert "No callback is suspended" in hooked.admin.page.text
    assert hooked.admin.get("/callbacks?page=forged").status_code == 404
    hooked.does(second, "reject")
    hooked.does(third, "reject")
    hooked.admin.get("/callbacks")
    assert "Waits for approval" not in [one.text for one in hooked.admin.page.all("h2")]


def test_its_page_tells_what_the_challenge_saw_and_what_approving_does(hooked: Hooked) -> None:
    one = registered(hooked.agent, projects=["main"], max_in_flight=20)
    text = hooked.page(one)
    assert stations(hooked.admin) == [
        ("registered", "done"),
        ("challenge passed", "done"),
        ("waits for approval", "now"),
        ("active", "later"),
        ("removed", "later"),
    ]
    for said in (
        "every answer of its name is public unicast; the vetted one was dialled, IPv4",
        "names hooks.example.com, alt.example.com",
        "1 May 2031",
        "payload included",
        "up to 20 in flight",
    ):
        assert said in text.replace("\N{NO-BREAK SPACE}", " "), said
    assert "8.8.8.8" not in hooked.admin.answer.text
    assert not re.search(r"\b\d{1,3}(\.\d{1,3}){3}\b", hooked.admin.page.one("main").text)
    assert hooked.admin.page.buttons().count("Approve for deliver") == 1
    hooked.admin.get("/callbacks")
    assert not {"pending_approval", "challenge_failed"} & set(hooked.admin.page.text.split())


def test_an_admin_approves_suspends_resumes_and_rejects(hooked: Hooked) -> None:
    one = registered(hooked.agent)
    for step, action, status, mark in (
        ("approve", "callback.approve", "active", "well"),
        ("suspend", "callback.suspend", "suspended", "exit"),
        ("resume", "callback.resume", "active", "well"),
        ("reject", "callback.reject", "rejected", "exit"),
    ):
        hooked.page(one)
        forms = [form.attributes["action"] for form in hooked.admin.page.all("form", method="post")]
        here = f"/callbacks/{one}/"
        if step != "reject":
            assert f"{here}{step}" in forms
        answer = hooked.does(one, step, why=f"because of {step}")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"/callbacks/{one}")
        row = hooked.row(one)
        assert (row.status, row.status_reason) == (status, f"because of {step}")
        assert actions(hooked.world)[-1] == (action, "done")
        text = hooked.page(one)
        assert f"because of {step}" in text
        assert mark in [mark for _, mark in stations(hooked.admin)]


def test_the_overview_tells_of_those_that_wait_and_of_suspended_ones(hooked: Hooked) -> None:
    one, browser = registered(hooked.agent), hooked.admin

    def told() -> dict[str, str]:
        browser.get("/overview")
        needs = browser.page.all("ol", **{"class": "needs"})
        lines = [line for found in needs for line in found.all("li")]
        steps = {line.one("strong").text: line.all("a")[-1].attributes["href"] for line in lines}
        return {words: leads for words, leads in steps.items() if "callback" in words}

    suspended = "/callbacks?state=suspended"
    assert told() == {"1 callback waits for approval": "/callbacks?state=pending_approval"}
    asks = browser.page.one("ol", **{"class": "needs"}).text
    assert "hooks.example.com for " in asks, "who asks, and for what host"
    assert "oldest " in asks
    for step, then in (("approve", {}), ("suspend", {"1 callback is suspended": suspended})):
        hooked.page(one)
        hooked.does(one, step)
        assert told() == then
    browser.get(suspended)
    assert f"/callbacks/{one}" in [a.attributes["href"] for a in browser.page.all("a")]


@pytest.mark.parametrize("why", ["", "   ", "x" * 501])
def test_a_decision_without_a_reason_is_none(hooked: Hooked, why: str) -> None:
    one = registered(hooked.agent)
    answer = hooked.does(one, "approve", why=why)
    assert answer.status_code == 422
    assert "Say why" in hooked.admin.page.text
    assert hooked.row(one).status == "pending_approval"


def test_what_cannot_be_is_told_where_it_was_asked(hooked: Hooked) -> None:
    first = registered(hooked.agent)
    second = registered(hooked.agent, url="https://b.example.com/in")
    assert hooked.does(first, "approve").status_code == 303
    answer = hooked.does(second, "approve", why="the other one")
    assert answer.status_code == 409
    assert "Another active callback delivers" in hooked.admin.page.text
    assert hooked.admin.page.one("textarea", id="why").raw.strip() == "the other one"
    assert hooked.row(second).status == "pending_approval"
    assert hooked.does(second, "resume").status_code == 409
    assert hooked.does(first, "suspend").status_code == 303
    call_out_to(hooked.world, error="it is not there")
    answer = hooked.does(first, "resume")
    assert answer.status_code == 409
    assert "It did not pass: no connection" in hooked.admin.page.text
    assert hooked.row(first).status == "suspended"


def test_a_challenge_is_sent_again_and_no_transaction_is_open_while_it_is(hooked: Hooked) -> None:
    hooked.outside.receiver.failing = Cause.TIMEOUT
    refused = register(hooked.agent)
    one = refused.json["callback_id"]
    text = hooked.page(one)
    assert "unreachable: no connection" in text
    assert stations(hooked.admin)[1] == ("challenge failed", "exit")
    assert hooked.does(one, "challenge").status_code == 409
    assert "It did not pass" in hooked.admin.page.text
    hooked.outside.receiver.failing = None
    answering = hooked.outside.receiver.answering

    def look(told: dict[str, Any]) -> bytes:
        # SQLite has one writer: were a transaction open, this would wait for it
        hooked.world.house.database.run(
            lambda s: s.connection().execute(
                update(callback).values(max_in_flight=callback.c.max_in_flight)
            )
        )
        return answering(told)

    hooked.outside.receiver.answering = look
    assert hooked.does(one, "challenge").status_code == 303
    assert hooked.row(one).status == "pending_approval"
    entry = audited(hooked.world)[-1]
    assert (entry.action, entry.outcome, entry.actor_kind) == (
        "callback.challenge",
        "done",
        "operator",
    )


def test_challenges_beyond_the_hosts_budget_wait(hooked: Hooked) -> None:
    one = registered(hooked.agent)
    answers = [hooked.does(one, "challenge").status_code for _ in range(10)]
    assert answers == [303] * 9 + [409]
    assert "Nothing was sent." in hooked.admin.page.text


def test_a_new_secret_is_shown_once_and_both_sign(hooked: Hooked) -> None:
    one = registered(hooked.agent)
    answer = hooked.does(one, "secret")
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    found = sorted(set(re.findall(r"whsec_[A-Za-z0-9+/=]+", answer.text)))
    assert len(found) == 1
    assert found[0] not in hooked.admin.get(f"/callbacks/{one}").text
    assert SECRET not in hooked.admin.answer.text
    secrets = hooked.world.house.challenger.secrets
    raw = hooked.row(one).callback_id
    live = hooked.world.house.database.run(lambda s: secrets.live(s, raw, database_now(s)))
    assert live == [found[0], SECRET]
    assert actions(hooked.world)[-1] == ("callback.secret", "done")
    assert found[0] not in str(audited(hooked.world))


def test_attempts_are_told_by_outcome_and_paged(hooked: Hooked) -> None:
    one = registered(hooked.agent)
    hooked.does(one, "approve")
    assert "nothing has been due for it yet" in hooked.page(one)
    raw = hooked.row(one).callback_id

    def tried(session: Any) -> None:
        now = database_now(session)
        for number in range(20):
            outcome = ("delivered", "refused", "failed", "gone")[number % 4]
            session.connection().execute(
                insert(callback_attempt).values(
                    attempt_id=new_id(),
                    callback_id=raw,
                    event_id=None if number % 2 else new_id(),
                    at=now,
                    outcome=outcome,
                    status=200 + number,
                    duration_ms=number,
                    attempt=1,
                )
            )

    hooked.world.house.database.run(tried)
    hooked.page(one)
    seen = []
    while True:
        rows = hooked.admin.page.one("table", **{"class": "tries"}).one("tbody").all("tr")
        seen += [int(row.all("td")[2].text) for row in rows]
        more = hooked.admin.page.all("a", rel="next")
        if not more:
            break
        assert hooked.admin.get(more[0].attributes["href"]).status_code == 200
    assert seen == [219 - number for number in range(20)]
    assert "refused: an attempt of the event" in hooked.admin.page.text
    assert hooked.admin.get(f"/callbacks/{one}?page=forged").status_code == 404


def test_who_has_not_just_proved_who_he_is_is_asked_to_first(hooked: Hooked) -> None:
    one = registered(hooked.agent)
    token = hooked.admin.token()
    hooked.world.pass_time(601)
    hooked.page(one)
    assert "Approve for deliver" not in hooked.admin.page.buttons()
    again = f"/sign-in/again?next=/callbacks/{one}"
    assert hooked.admin.page.one("a", href=again).text == "Sign in again to decide"
    for step in STEPS:
        answer = hooked.admin.post(f"/callbacks/{one}/{step}", {"csrf": token, "why": "agreed"})
        assert answer.headers["Location"].startswith("/sign-in/again"), step
    assert hooked.row(one).status == "pending_approval"


def test_wu_038_an_operator_looks_and_is_refused_the_rest(hooked: Hooked) -> None:
    one = registered(hooked.agent)
    other = signed_in(hooked.world, email="o@example.com")
    other.get(f"/callbacks/{one}")
    assert "You may look at this, a tenant admin may change it." in other.page.text
    assert not [f for f in other.page.all("form") if one in f.attributes.get("action", "")]
    form = {"csrf": other.token(), "why": "agreed"}
    for step in STEPS:
        assert other.post(f"/callbacks/{one}/{step}", form).status_code == 403, step
    assert hooked.row(one).status == "pending_approval"


def test_wu_039_callbacks_of_others_are_as_those_that_never_were(hooked: Hooked) -> None:
    one = registered(hooked.agent)
    hooked.world.tenant("rival", "main")
    rival = signed_in(hooked.world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    form = {"csrf": rival.token(), "why": "agreed"}
    sent = len(hooked.outside.receiver.requests)
    for callback_id in (one, unknown_id("cb"), "x"):
        assert rival.get(f"/callbacks/{callback_id}").status_code == 404
        for step in STEPS:
            assert rival.post(f"/callbacks/{callback_id}/{step}", form).status_code == 404, step
    rival.get("/callbacks")
    assert "No callbacks yet" in rival.page.text
    assert len(hooked.outside.receiver.requests) == sent
    secrets = select(callback_secret.c.secret_id)
    found = hooked.world.house.database.run(lambda s: s.connection().execute(secrets).all())
    assert len(found) == 1


def test_text_of_others_is_text(hooked: Hooked) -> None:
    one = registered(hooked.agent, url="https://hooks.example.com/%3Cscript%3E?x=1")
    hooked.does(one, "reject", why="<script>alert(1)</script> \u202eevil")
    hooked.page(one)
    assert not [s for s in hooked.admin.page.all("script") if s.text]
    assert "\\u202eevil" in hooked.admin.page.text
