"""An operator lets a device in, in a browser: without scripts, on a narrow screen, and after signing out."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.chromium import STEP_MILLISECONDS
from tests.support.serving import RestanteCommand, Served

pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def served(serve: Callable[..., Served], tmp_path: Path) -> Served:
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    command = RestanteCommand(url, settings={"RESTANTE_INSTANCE": str(tmp_path / "instance")})
    command.upgrade()
    command.create_tenant("acme")
    command.create_project("acme", "main")
    command.create_agent("acme", "dock-tablet", grants=("agent:main:read", "agent:main:claim"))
    return serve(url, settings={"RESTANTE_INSTANCE": str(tmp_path / "instance")})


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """360 px wide, with scripts off; what its policy forbids fails the test."""
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 700})
    context.set_default_timeout(STEP_MILLISECONDS)
    one = context.new_page()
    told: list[str] = []
    one.on("console", lambda message: told.append(message.text))
    yield one
    context.close()
    assert not [text for text in told if "Content Security Policy" in text]


def waiting(served: Served) -> dict[str, Any]:
    """What a program without an agent is told that begins to log in."""
    form = urlencode({"client_id": "restante-agent"}).encode()
    with urllib.request.urlopen(f"{served.url}/oauth/device_authorization", form) as answer:
        told: dict[str, Any] = json.load(answer)
    return told


def fits(page: Page) -> None:
    """Nothing is wider than the screen (WCAG 2.2, 1.4.10)."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_device_is_let_in_by_one_thumb_without_scripts(served: Served, page: Page) -> None:
    device = waiting(served)
    link = served.command.json(
        "operator", "invite", "--tenant", "acme", "--email", "o@example.com", "--role", "operator"
    )["url"]
    page.goto(device["verification_uri_complete"])
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_label("Code")).to_have_value(device["user_code"])
    fits(page)
    page.get_by_role("button", name="Look it up").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Which agent is it?")
    fits(page)
    page.get_by_label("Name").fill("DOCK")
    page.get_by_label("Name").press("Enter")
    page.get_by_role("button", name="dock-tablet").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Approve dock-tablet?")
    fits(page)
    approve = page.get_by_role("button", name="Approve this device")
    approve.click()  # the box is required: the browser stays
    expect(page.get_by_role("heading", level=1)).to_have_text("Approve dock-tablet?")
    page.get_by_label("It shows exactly this code").check()
    for target in (approve, page.get_by_role("button", name="Refuse")):
        box = target.bounding_box()
        assert box is not None
        assert box["height"] >= 40
    approve.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(
        "dock-tablet may log in on this device"
    )
    fits(page)


def test_wu_025_nothing_is_shown_by_going_back_after_signing_out(
    served: Served, page: Page
) -> None:
    link = served.command.json(
        "operator", "invite", "--tenant", "acme", "--email", "o@example.com", "--role", "operator"
    )["url"]
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    fits(page)
    page.locator("summary", has_text="menu").click()  # the rail, on a small screen
    expect(page.get_by_text("o@example.com")).to_be_visible()
    fits(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("You are signed out")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    assert "o@example.com" not in page.content()
