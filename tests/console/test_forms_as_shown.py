"""Forms of several settings in two tabs: what one did not touch stays as another has set it."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import Browser, audited, signed_in
from tests.http.world import Caller, World


@pytest.fixture
def old(world: World) -> Browser:
    """The tab that was opened first."""
    return signed_in(world, role=Role.TENANT_ADMIN, email="a@example.com")


@pytest.fixture
def other(world: World) -> Browser:
    return signed_in(world, role=Role.TENANT_ADMIN, email="b@example.com")


def set_now(browser: Browser, path: str) -> dict[str, str]:
    browser.get(path)
    return {k: v for k, v in browser.page.form(path).items() if not k.startswith("was-")}


def test_an_old_tab_undoes_nothing_that_it_does_not_change(old: Browser, other: Browser) -> None:
    for browser in (old, other):
        browser.get("/settings")
    other.send("/settings", redacted_paths="/iban", require_signatures="yes")
    assert old.send("/settings", max_pending="500").status_code == 303
    now = set_now(other, "/settings")
    assert (now["max_pending"], now["redacted_paths"]) == ("500", "/iban")
    assert "checked" in other.page.one("input", name="require_signatures").attributes


def test_what_both_have_changed_is_told_and_nothing_is_written(
    world: World, old: Browser, other: Browser
) -> None:
    for browser in (old, other):
        browser.get("/settings")
    other.send("/settings", redacted_paths="/iban\r\n/name", require_signatures="yes")
    before, kept = len(audited(world)), set_now(other, "/settings")
    answer = old.send("/settings", redacted_paths="/card", max_pending="500")
    assert answer.status_code == 409
    said = old.page.one("p", id="fault-redacted_paths").text
    assert "Another has set this meanwhile: /iban, /name. Nothing was changed." in said
    assert "checked" in old.page.one("input", name="require_signatures").attributes
    typed = old.page.form("/settings")
    assert (typed["redacted_paths"], typed["max_pending"]) == ("/card", "500")
    assert (len(audited(world)), set_now(other, "/settings")) == (before, kept)
    # now he has seen it: sent once more it is set
    assert old.send("/settings", require_signatures="yes").status_code == 303
    assert set_now(other, "/settings")["redacted_paths"] == "/card"
    assert "checked" in other.page.one("input", name="require_signatures").attributes


def test_a_switch_that_both_have_turned_alike_is_no_quarrel(old: Browser, other: Browser) -> None:
    for browser in (old, other):
        browser.get("/settings")
    other.send("/settings", require_signatures="yes")
    assert old.send("/settings", require_signatures="yes").status_code == 303
    other.get("/settings")
    assert "checked" in other.page.one("input", name="require_signatures").attributes


def test_a_form_that_was_refused_is_no_newer_than_it_was(old: Browser, other: Browser) -> None:
    old.get("/settings")
    other.get("/settings")
    other.send("/settings", redacted_paths="/iban")
    assert old.send("/settings", max_pending="x").status_code == 422
    assert old.send("/settings", max_pending="500").status_code == 303
    assert set_now(other, "/settings")["redacted_paths"] == "/iban"


@pytest.mark.parametrize("path", ["/settings", "/projects/main"])
def test_a_form_without_marks_writes_nothing_over_what_is_set(
    world: World, old: Browser, path: str
) -> None:
    before = len(audited(world))
    typed = {"csrf": old.token(), "on_quarantine": "hold", "max_pending": "500"}
    for more in ({}, {"was-max_pending": "x" * 2_000, "was-on_quarantine": "\x00"}):
        assert old.post(path, typed | more).status_code == 409
    assert len(audited(world)) == before


def test_a_projects_settings_in_two_tabs(
    world: World, alice: Caller, old: Browser, other: Browser
) -> None:
    path = "/projects/main"
    for browser in (old, other):
        browser.get(path)
    other.send(path, unread_after_seconds="90", unit="min", unread_escalate_to="alice")
    assert old.send(path, on_quarantine="hold", unit="h").status_code == 303
    now = set_now(other, path)
    assert (now["unread_after_seconds"], now["unread_escalate_to"]) == ("90", "alice")
    assert now["on_quarantine"] == "hold"
    before = len(audited(world))
    old.get(path)
    other.get(path)
    other.send(path, unread_after_seconds="2", unit="h", on_quarantine="skip")
    changed = {"unread_after_seconds": "3", "unit": "d", "on_quarantine": "hold"}
    answer = old.send(path, unread_escalate_to="", **changed)
    assert answer.status_code == 409
    assert "meanwhile: 2 h" in old.page.one("p", id="fault-unread_after_seconds").text
    assert not old.page.all("p", id="fault-on_quarantine")
    typed = old.page.form(path)
    assert (typed["unread_after_seconds"], typed["unread_escalate_to"]) == ("3", "")
    assert typed["on_quarantine"] == "skip"  # which he did not change
    assert len(audited(world)) == before + 1


def test_an_agents_scopes_in_two_tabs(alice: Caller, old: Browser, other: Browser) -> None:
    path = f"/scopes/{alice.id}"
    old.get(path)
    shown = [e.attributes["value"] for e in old.page.all("input", name="had")]
    assert "agent:main:claim" in shown
    form = {
        "csrf": old.token(),
        "agent": alice.id,
        "shown": ["main", "other"],
        "had": [one for one in shown if one != "agent:main:claim"],
        "grant": [one for one in shown if one != "agent:main:claim"] + ["agent:other:read"],
    }
    # another has granted claim since this form was shown: it is not withdrawn by it
    old.ask("POST", "/scopes/preview", data=form)
    changes = [e.attributes["value"] for e in old.page.all("input", name="change")]
    assert len(changes) == 1
    assert "other" in changes[0]
