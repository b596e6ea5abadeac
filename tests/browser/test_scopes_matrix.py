"""The matrix of scopes by keyboard: cells are edited in place, who loses what is said, all is applied."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.chromium import STEP_MILLISECONDS
from tests.support.serving import RestanteCommand, Served

pytestmark = pytest.mark.timeout(400)
LONG = "z" + "o" * 189
"""The longest name that an agent may have."""


@pytest.fixture
def page(browser: Browser, serve: Callable[..., Served], tmp_path: Path) -> Page:
    """An admin's, signed in, of a tenant with two agents."""
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    command = RestanteCommand(url, settings=settings)
    command.upgrade()
    command.create_tenant("acme")
    for slug in ("main", "other"):
        command.create_project("acme", slug)
    command.create_agent("acme", "laptop", grants=("agent:main:read", "agent:main:claim"))
    command.create_agent("acme", "keeper", grants=("agent:*:read",))
    command.create_agent("acme", LONG, grants=("agent:main:read",))
    served = serve(url, settings=settings)
    named = ("--tenant", "acme", "--email", "o@example.com", "--role", "tenant_admin")
    context = browser.new_context(base_url=served.url, reduced_motion="reduce")
    context.set_default_timeout(STEP_MILLISECONDS)
    expect.set_options(timeout=STEP_MILLISECONDS)
    one = context.new_page()
    inviting = RestanteCommand(url, settings={**settings, **served.settings})
    one.goto(inviting.json("operator", "invite", *named)["url"])
    one.get_by_role("button", name="Sign in").click()
    return one


def check_a_long_name_leaves_room(page: Page) -> None:
    """The column of names stays while scrolling, so it must not cover the cells; the name is in the title."""
    usual = page.viewport_size
    assert usual is not None
    page.set_viewport_size({"width": 360, "height": 900})
    box = page.locator(".matrix th:first-child").last.bounding_box()
    assert box is not None
    assert box["width"] <= 180
    page.set_viewport_size({"width": 1440, "height": 900})
    hidden: int = page.evaluate(
        "(one => one.scrollWidth - one.clientWidth)(document.querySelector('.sheet'))"
    )
    assert hidden == 0
    expect(page.get_by_title(LONG)).to_be_visible()
    page.set_viewport_size(usual)


def test_cells_are_edited_and_undone_and_all_of_it_is_applied(page: Page) -> None:
    told: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.goto("/scopes")
    check_a_long_name_leaves_room(page)
    cell = page.get_by_role("link", name="laptop in main: read, claim")
    cell.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("checkbox", name="claim")).to_be_checked()
    page.keyboard.press("c")
    page.keyboard.press("p")
    page.keyboard.press("Escape")
    cell = page.get_by_role(
        "link", name="laptop in main: read, claim will be removed, publish will be added"
    )
    expect(cell).to_be_focused()
    expect(page.get_by_role("heading", name="2 changes, not applied yet")).to_be_visible()
    expect(page.locator("#effects")).to_contain_text(
        "It can no longer claim or settle its mail in main."
    )
    page.get_by_role("link", name="keeper in other: read through *").click()
    page.get_by_label("Template").select_option(label="Works")
    expect(page.get_by_role("button", name="Apply 4 changes")).to_be_visible()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Undo agent:other:read").click()
    expect(page.get_by_role("button", name="Apply 3 changes")).to_be_visible()
    page.get_by_label("Why").fill("the laptop only reports")
    page.get_by_role("button", name="Apply 3 changes").click()
    expect(page.get_by_text("3 changes applied.")).to_be_visible()
    expect(page.get_by_role("link", name="laptop in main: read, publish")).to_be_visible()
    expect(page.get_by_role("link", name="keeper in other: claim, read through *")).to_be_visible()
    assert not [text for text in told if "Content Security Policy" in text]
