"""The audit in the console: by who, what and when; one entry; verified in pieces; taken away as a file."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from sqlalchemy import update

from blueprints.console import audit, audit_export
from blueprints.console.audit_export import COLUMNS, cell
from restante.audit.actions import Action, ActorKind, Outcome
from restante.audit.chain import record
from restante.audit.entries import Actor, Entry, Origin
from restante.identity.called import called
from restante.identity.roles import Role
from restante.storage.tables.audit import audit_entry
from tests.console.browsing import Browser, actions, audited, signed_in
from tests.http.callbacks import call_out_to, registered
from tests.http.world import World, verbs

BY = Origin(Actor(ActorKind.OPERATOR, "opr_" + "1" * 32), "192.0.2.7", "req-1")


def add(world: World, *reasons: str, tenant: str = "acme", by: Origin = BY) -> None:
    entries = [
        Entry(world.tenants[tenant], by, Action.AGENT_PAUSE, "agt_1", reason=reason)
        for reason in reasons
    ]
    world.house.database.run(lambda s: record(s, *entries))


def reasons(browser: Browser) -> list[str]:
    """Of the entries shown that `add` has made."""
    found = [(row, row.all("td")) for row in browser.page.all("tr") if row.all("td")]
    return [cells[3].text for row, cells in found if row.all("th")[0].text == "agent.pause"]


def export(browser: Browser, format_: str, **fields: str) -> Any:
    form = {"csrf": browser.token(), "format": format_, **fields}
    return browser.post("/audit/export", form)


def test_entries_are_found_by_what_who_and_when(world: World) -> None:
    add(world, "early")
    world.pass_time(3 * 86_400)
    browser = signed_in(world, email="boss@example.com")
    add(world, "late")
    refused = Entry(world.tenants["acme"], BY, Action.KEYS_ROTATE, None, Outcome.REFUSED, "no")
    world.house.database.run(lambda s: record(s, refused))
    at = {entry.reason: entry.at for entry in audited(world)}
    day, before = at["late"].date().isoformat(), at["early"].date().isoformat()
    for query, expected in (
        ("", ["late", "early"]),
        ("?action=agent.pause", ["late", "early"]),
        ("?action=agent.create", []),
        (f"?actor={BY.actor.id}", ["late", "early"]),
        ("?actor=boss@example.com", []),
        ("?target=agt_1", ["late", "early"]),
        (f"?since={day}", ["late"]),
        (f"?until={before}", ["early"]),
        (f"?since={before}&until={day}", ["late", "early"]),
        (f"?since={at['early'].isoformat()}Z&until={at['late'].isoformat()}", ["early"]),
    ):
        assert browser.get(f"/audit{query}").status_code == 200
        assert reasons(browser) == expected, query
    browser.get("/audit?actor=BOSS@example.com")
    assert "session.begin" in browser.page.text
    browser.get("/audit?action=keys.rotate")
    assert "refused" in browser.page.one("tbody").text
    for query, field in (("?since=yesterday", "since"), ("?action=x.y", "action")):
        assert browser.get(f"/audit{query}").status_code == 200
        assert reasons(browser) == []
        assert browser.page.all("p", role="alert"), field
    assert browser.get("/audit?page=forged").status_code == 404


def test_entries_are_paged(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "ENTRIES", 3)
    add(world, *"abcdefgh")
    browser = signed_in(world)
    browser.get("/audit?action=agent.pause")
    seen = reasons(browser)
    while more := browser.page.all("a", rel="next"):
        browser.get(more[0].attributes["href"])
        seen += reasons(browser)
    assert seen == list("hgfedcba")


def test_one_entry_tells_all_of_it_and_whether_it_is_what_was_written(world: World) -> None:
    add(world, "because")
    browser = signed_in(world)
    browser.get("/audit?action=agent.pause")
    link = browser.page.one("tbody").one("a").attributes["href"]
    browser.get(link)
    for told in ("agent.pause", "because", "192.0.2.7", "req-1", "its hash is right"):
        assert told in browser.page.text, told
    before = browser.page.one("a", rel="prev").attributes["href"]
    browser.get(before)
    assert browser.page.one("a", rel="next").attributes["href"] == link
    world.house.database.run(
        lambda s: s.connection().execute(
            update(audit_entry).where(audit_entry.c.reason == "because").values(reason="another")
        )
    )
    browser.get(link)
    assert "This is not what was written" in browser.page.text
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    assert rival.get(link).status_code == 404
    rival.get("/audit")
    assert "another" not in rival.page.text


def test_the_chain_is_verified_piece_by_piece(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "PIECE", 4)
    add(world, *"abcdefgh")
    browser = signed_in(world)
    before = len(audited(world))
    browser.get("/audit/verification")
    steps = 1
    while onward := browser.page.all("meta", **{"http-equiv": "refresh"}):
        browser.get(onward[0].attributes["content"].removeprefix("0;url="))
        steps += 1
    count = sum(entry.chain_id == world.tenants["acme"] for entry in audited(world))
    assert f"All {count} entries are what was written." in browser.page.text
    assert steps >= 3
    assert browser.get("/audit/verification", headers={"Restante-Live": "1"}).status_code == 204
    assert len(audited(world)) == before
    world.house.database.run(
        lambda s: s.connection().execute(
            update(audit_entry).where(audit_entry.c.reason == "h").values(reason="H")
        )
    )
    browser.get("/audit/verification")
    while onward := browser.page.all("meta", **{"http-equiv": "refresh"}):
        last = onward[0].attributes["content"].removeprefix("0;url=")
        browser.get(last)
    assert "is not what was written: it was changed" in browser.page.text
    assert browser.get("/audit/verification?from=forged").status_code == 404
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com")
    assert rival.get(last).status_code == 404


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1", "=cmd|' /C calc'!A0"],
)
def test_wu_033_no_cell_is_a_formula(text: str) -> None:
    assert cell(text) == f"'{text}"
    assert cell(f"a{text}") == f"a{text}"


def test_wu_033_a_file_is_safe_for_a_spreadsheet_and_says_so(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_export, "PIECE", 3)
    hostile = '=HYPERLINK("//evil.example";"x"), a'
    add(world, *"abcdefg", hostile)
    world.agent("acme", "=1+1", verbs("main"))
    browser = signed_in(world)
    browser.get("/audit")
    assert "begins with an apostrophe" in browser.page.text
    answer = export(browser, "csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="audit.csv"'
    assert answer.headers["Cache-Control"] == "no-store"
    head, *rows = list(csv.reader(io.StringIO(answer.text)))
    assert tuple(head) == COLUMNS
    told = [row[COLUMNS.index("reason")] for row in rows]
    assert f"'{hostile}" in told
    assert "'=1+1" in told
    assert told[-1:] == ["main"] or len(rows) > 10
    assert not [text for row in rows for text in row if text[:1] in ("=", "+", "-", "@")]
    answer = export(browser, "jsonl", action="agent.pause")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert [one["reason"] for one in lines] == [hostile, *"gfedcba"]
    assert actions(world)[-1] == ("audit.export", "done")
    assert audited(world)[-1].reason == "as jsonl: action agent.pause"


def test_wu_034_a_file_is_of_ones_own_tenant_bounded_and_ends_with_the_session(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_export, "PIECE", 2)
    add(world, *"abcdef")
    world.tenant("rival", "main")
    add(world, "theirs", tenant="rival")
    platform = signed_in(world, tenant=None, role=Role.PLATFORM_ADMIN, email="p@example.com")
    assert export(platform, "csv").status_code == 403
    browser = signed_in(world)
    assert "theirs" not in export(browser, "jsonl").text
    wrongs: tuple[tuple[dict[str, str], str], ...] = (
        ({}, "Format: it is one of csv, jsonl"),
        ({"format": "xls"}, "Format: it is one of csv, jsonl"),
        ({"format": "csv", "since": "yesterday"}, "Since: write a day"),
        ({"format": "csv", "action": "x.y"}, "Did: there is no such action"),
    )
    for wrong, said in wrongs:
        answer = browser.post("/audit/export", {"csrf": browser.token(), **wrong})
        assert (answer.status_code, said in browser.page.text) == (422, True), wrong
    with monkeypatch.context() as bounded:
        bounded.setattr(audit_export, "MOST", 3)
        assert len(export(browser, "jsonl").text.splitlines()) == 3
    answer = browser.client.post(
        "/audit/export",
        data={"csrf": browser.token(), "format": "jsonl", "action": "agent.pause"},
        base_url=world.house.settings.public_url,
        buffered=False,
    )
    sent = answer.iter_encoded()
    first = next(sent)
    browser.post("/sign-out", {"csrf": browser.token()})
    assert first.count(b"\n") == 2
    assert b"".join(sent) == b""


def test_the_list_names_whom_an_entry_is_about_and_says_a_name_once(world: World) -> None:
    browser = signed_in(world, email="boss@example.com")
    browser.get("/audit?action=project.create")
    rows = [[cell.text for cell in row.all("td")] for row in browser.page.one("tbody").all("tr")]
    assert [(by, to, why) for _, by, to, why in rows] == [
        ("an application", "other", ""),
        ("an application", "main", ""),
    ]
    browser.get("/audit?action=session.begin")
    cells = [cell.text for cell in browser.page.one("tbody").all("td")]
    assert (cells[1], cells[3]) == ("boss@example.com", "by a sign-in link")


def test_a_callback_is_named_by_its_agent_in_its_own_tenant_alone(world: World) -> None:
    call_out_to(world)
    agent = world.agent("acme", "planner", verbs("main", "callback"))
    callback_id = registered(agent, url="https://one.example.com/in")
    browser = signed_in(world)
    browser.get("/audit?action=callback.register")
    cells = [cell.text for cell in browser.page.one("tbody").all("td")]
    assert cells[2] == "callback of planner"
    world.tenant("rival", "main")
    names = world.house.database.run(lambda s: called(s, world.tenants["rival"], [callback_id]))
    assert names == {}
