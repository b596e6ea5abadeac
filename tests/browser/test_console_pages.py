"""Every page of the console in a browser: nobody is kept out of it, and its policy is kept.

Pages come from the URL map: a new one is tried without being named here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from restante.identity.roles import Role
from tests.browser.furnished import Furnished, furnished
from tests.browser.pages import pages_of
from tests.support.axe_core import OF_COLOUR, found_by, script
from tests.support.chromium import STEP_MILLISECONDS
from tests.support.databases import create_empty
from tests.support.session import known_url
from tests.support.unavailable import had

pytestmark = pytest.mark.timeout(400)
DOCS = (
    *("/docs", "/docs/agents", "/docs/operations", "/docs/search?q=lease"),
    *("/api/docs", "/problems", "/problems/stale-claim"),
)
LOOKS: dict[tuple[int, int], dict[Literal["light", "dark"], tuple[str, ...]]] = {
    (1440, 900): {"light": (), "dark": OF_COLOUR},
    (390, 844): {"dark": (), "light": OF_COLOUR},
}


@pytest.fixture(scope="module")
def house(worker_folder: Path, worker_name: str) -> Iterator[Furnished]:
    """Served on MySQL where the run has it."""
    kind = next(one for one in ("mysql", "mariadb", "sqlite") if one == "sqlite" or known_url(one))
    url = create_empty(kind, f"restante_{worker_name}_pages", worker_folder)
    with furnished(url, worker_folder) as one:
        yield one


@pytest.fixture(scope="module")
def axe() -> str:
    return had(script)


def wide(page: Page) -> int:
    """How far a page goes beyond its window, in pixels."""
    found: int = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return found


def faults_of(page: Page) -> Iterator[str]:
    """What is wrong with a page that is shown, in each width and theme; by all rules in each width once."""
    for (width, height), themes in LOOKS.items():
        page.set_viewport_size({"width": width, "height": height})
        if wide(page) > 0:
            yield f"{width}: {wide(page)} px wider than the window"
        for theme, rules in themes.items():
            page.emulate_media(color_scheme=theme)
            yield from (f"{theme} {width}: {line}" for line in found_by(page, rules))


def test_axe_finds_nothing_and_nothing_sticks_out(
    browser: Browser, house: Furnished, axe: str
) -> None:
    faults: list[str] = []
    for role, mine in ((Role.TENANT_ADMIN, True), (Role.PLATFORM_ADMIN, False)):
        context = house.context(browser, role)
        context.set_default_timeout(STEP_MILLISECONDS)
        page = context.new_page()
        page.add_init_script(axe)
        page.on("console", lambda message, told=faults: told.append(message.text))
        page.on("pageerror", lambda error, told=faults: told.append(str(error)))
        paths = [
            path
            for path in pages_of(house.world.app, role, house.ids)
            if path.startswith("/platform") is not mine
        ]
        assert len(paths) > (10 if mine else 1)
        paths += DOCS if mine else ()
        for path in paths:
            answer = page.goto(path)
            assert answer is not None
            if answer.status != 200 or "text/html" not in answer.headers["content-type"]:
                continue  # a file, or a step that wants something first
            faults += [f"{path} {fault}" for fault in faults_of(page)]
        context.close()
    assert not faults, "\n".join(faults)


def test_the_rail_has_icons_alone_where_it_is_narrow_and_the_sheet_ends(
    browser: Browser, house: Furnished
) -> None:
    context = house.context(browser, viewport={"width": 900, "height": 900})
    page = context.new_page()
    page.goto("/overview")
    for width, rail, sheet in (
        (900, 64, 836),
        (1180, 64, 1116),
        (1440, 216, 1224),
        (3840, 216, 1824),
    ):
        page.set_viewport_size({"width": width, "height": 900})
        found = page.evaluate(
            "[...document.querySelectorAll('.rail, .over')].map(one => one.getBoundingClientRect().width)"
        )
        assert found == [rail, sheet], width
        assert wide(page) == 0
        for place in ("Overview", "Audit"):
            assert page.get_by_role("link", name=place, exact=True).is_visible()
        for action in ("Sign out", "Dark colours"):
            assert page.get_by_role("button", name=action).is_visible()
    page.set_viewport_size({"width": 360, "height": 900})
    find = page.locator("#find")  # an icon, until it is used
    small = find.bounding_box()
    find.focus()
    large = find.bounding_box()
    assert small is not None
    assert large is not None
    assert small["width"] <= 44
    assert large["width"] >= 300
    context.close()


def test_back_after_a_checked_patch_shows_it_and_enter_carries_out(
    browser: Browser, house: Furnished
) -> None:
    context = house.context(browser, Role.TENANT_ADMIN, java_script_enabled=False)
    page = context.new_page()
    page.set_default_timeout(STEP_MILLISECONDS)
    page.goto("/quarantine/amend?all=yes")
    page.get_by_label("What changes in each payload").fill('{"currency": "EUR"}')
    page.get_by_role("button", name="Check").click()
    page.get_by_label("Why").fill("it is always euros")
    page.get_by_role("button", name="count again").click()
    page.locator("a[href^='/events/evt_']").click()
    assert "/events/evt_" in page.url
    page.go_back()
    assert page.get_by_label("Why").input_value() == "it is always euros"
    page.get_by_role("button", name="Discard", exact=True).click()
    assert page.get_by_label("Why").input_value() == "it is always euros"
    page.get_by_label("to go on").fill("0")
    page.get_by_label("to go on").press("Enter")
    page.wait_for_load_state()
    assert "Nothing was done" in page.locator("#fault").inner_text()
    context.close()


def test_other_colours_leave_what_is_typed_with_and_without_a_refusal(
    browser: Browser, house: Furnished
) -> None:
    context = house.context(browser, Role.TENANT_ADMIN)
    page = context.new_page()
    page.set_default_timeout(STEP_MILLISECONDS)
    page.goto("/quarantine/redrive?all=yes")
    page.get_by_label("Why").fill("half a reason")
    page.get_by_title("Dark colours").click()
    page.locator("html[data-theme=dark]").wait_for()
    assert page.get_by_label("Why").input_value() == "half a reason"
    assert page.url.endswith("/quarantine/redrive?all=yes")
    page.get_by_title("System colours").click()
    page.locator("html:not([data-theme])").wait_for()
    page.get_by_label("Why").fill(" ")
    page.locator("#order footer button").click()
    page.locator("#fault").wait_for()
    there = page.url
    assert "all=yes" in there
    page.go_back()
    assert page.url.endswith("/quarantine/redrive?all=yes")
    page.go_forward()
    assert (page.url, page.locator("#fault").count()) == (there, 1)
    context.close()
