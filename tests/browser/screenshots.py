"""`make screenshots`: every page, in both themes and three widths, empty and full, to be looked at.

Those of who is not signed in too, those that say what went wrong, and the code of a device, looked up.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from restante.identity.roles import Role
from tests.browser.furnished import TENANT, Furnished, furnished
from tests.browser.pages import pages_of
from tests.console.browsing import device
from tests.console.things import entry_of
from tests.support.chromium import chromium

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"
WIDTHS = (360, 1024, 1440)
HEIGHT = 900
BUSY = "Too busy just now"


BARE = ("/", "/sign-in", "/signed-out", "/docs", "/problems", "/problems/stale-claim")
"""For anybody."""
GONE = "/inboxes/nobody"
DEVICE = "/device"
PART = "/progress"
"""Of a page, by itself it is none."""


def main(words: list[str]) -> None:
    """All of them; words narrow it to paths that contain one."""
    for full in (True, False):
        with tempfile.TemporaryDirectory(prefix="restante-") as folder:
            url = f"sqlite:///{folder}/mail.db"
            with chromium() as browser, furnished(url, Path(folder), full=full) as one:
                one.ids |= _examples(one)
                _take(one, browser, FOLDER / ("full" if full else "empty"), words)


def _examples(one: Furnished) -> dict[str, str]:
    """What more pages can show one of."""
    found = {"operator_id": one.operators[Role.OPERATOR].public_id}
    if one.boss is not None:
        order = {"filter": {}, "reason": "the field is there now", "stagger_seconds": 60}
        found["job_id"] = one.boss.post("admin/quarantine/redrive", order).json["job_id"]
        found["entry_id"] = entry_of(one.world, TENANT)
    return found


def _take(one: Furnished, browser: Browser, folder: Path, words: list[str]) -> None:
    app = one.world.app
    root = [path for path in pages_of(app, Role.PLATFORM_ADMIN, one.ids) if "/platform" in path]
    own = [path for path in pages_of(app, Role.TENANT_ADMIN, one.ids) if path not in root]
    for role, paths in (
        (Role.TENANT_ADMIN, [*own, GONE]),
        (Role.PLATFORM_ADMIN, root),
        (None, list(BARE)),
    ):
        wanted = [
            path
            for path in paths
            if not path.endswith(PART) and (not words or any(word in path for word in words))
        ]
        for theme in ("light", "dark"):
            for width in WIDTHS:
                how = {"color_scheme": theme, "viewport": {"width": width, "height": HEIGHT}}
                if role is None:
                    context = browser.new_context(base_url=one.served.url, **how)
                else:
                    context = one.context(browser, role, **how)
                page = context.new_page()
                for path in wanted:
                    name = path.strip("/").replace("/", "-") or "home"
                    _show(page, path)
                    page.screenshot(path=folder / f"{name}-{theme}-{width}.png", full_page=True)
                    if path == DEVICE:
                        _look_up(one, page)
                        picture = folder / f"device-looked-up-{theme}-{width}.png"
                        page.screenshot(path=picture, full_page=True)
                context.close()
    sys.stdout.write(f"{folder}\n")


def _look_up(one: Furnished, page: Page) -> None:
    """What an operator sees of a device before it is let in."""
    page.get_by_label("Code").fill(device(one.world).user_code)
    page.get_by_label("Code").press("Enter")
    page.wait_for_load_state("load")


def _show(page: Page, path: str) -> None:
    """A machine that is busy shows it at last."""
    for _ in range(5):
        page.goto(path, wait_until="load")
        if BUSY not in page.content():
            return


if __name__ == "__main__":
    main(sys.argv[1:])
