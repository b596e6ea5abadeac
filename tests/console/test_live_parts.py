"""What a page says of itself while it is open: the parts that are kept up to date are always there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from restante.identity.roles import Role
from restante.storage.ids import Prefix, encode_id
from tests.console.browsing import Browser, operator_of, signed_in
from tests.console.html import Element
from tests.http.world import Caller, World

TEMPLATES = Path(__file__).parents[2] / "templates" / "console"
OF_THE_ADDRESS = {"first", "payload is none", "not told", "not told and not before", "group"}
"""Conditions that stay what they are as long as the page's address answers (of a cause that is gone: 404)."""
_STEPS = re.compile(
    r"\{%-? *(if|for|macro|elif|else|endif|endfor|endmacro)\b ?(.*?) *-?%\}|data-live="
)


def conditional(text: str) -> list[str]:
    """The conditions under which a template has live parts, besides those of its address."""
    inside: list[str] = []
    found = []
    for step in _STEPS.finditer(text):
        match step[1]:
            case None:
                found += [one for one in inside if one not in OF_THE_ADDRESS]
            case "if" | "for" | "macro":
                inside.append(step[2])
            case "elif" | "else":
                inside[-1] = f"not {inside[-1]}"
            case _:
                inside.pop()
    return found


def test_no_part_is_live_only_while_it_has_something_to_show() -> None:
    """An answer without it leaves the old one where it is, under a green "Live"."""
    found = {path.name: conditional(path.read_text()) for path in TEMPLATES.glob("*.html")}
    assert {name: under for name, under in found.items() if under} == {}


def live(browser: Browser) -> dict[str, Element]:
    return {one.attributes["id"]: one for one in browser.page if "data-live" in one.attributes}


@pytest.mark.parametrize("tab", ["", "/in-flight"])
def test_an_inbox_that_gets_mail_and_is_emptied_is_asked_for_by_the_same_parts(
    world: World, alice: Caller, bob: Caller, tab: str
) -> None:
    browser = signed_in(world)
    browser.get(f"/inboxes/{bob.id}{tab}")
    empty = live(browser)
    alice.publish(bob)
    (event,) = bob.claim(limit=1)
    browser.get(f"/inboxes/{bob.id}{tab}")
    full = live(browser)
    assert empty.keys() == full.keys()
    part = "held" if tab else "events"
    assert event["event_id"] in str(full[part])
    assert event["event_id"] not in str(empty[part])
    if not tab:
        assert "head 0" in empty["read"].text
        assert "head 1" in full["read"].text
        assert empty["states"].text != full["states"].text
    assert empty["tabs"].text != full["tabs"].text


@pytest.mark.parametrize("whose", ["agent", "service", "member"])
def test_a_head_that_somebody_else_changes_is_asked_for_by_the_same_parts(
    world: World, alice: Caller, ci: Caller, whose: str
) -> None:
    member = operator_of(world, email="new@example.com")
    path = {
        "agent": f"/inboxes/{alice.id}",
        "service": f"/services/{ci.id}",
        "member": f"/members/{encode_id(Prefix.OPERATOR, member.id)}",
    }[whose]
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    browser.get(path)
    before = live(browser)
    assert browser.send(f"{path}/disable").status_code == 303
    browser.get(path)
    after = live(browser)
    assert before.keys() == after.keys()
    changed = {name for name, part in before.items() if part.text != after[name].text}
    assert {"who", "acts", "standing"} <= changed
    assert "disabled" in after["who"].text + after["standing"].text
