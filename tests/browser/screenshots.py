"""`make screenshots`: every page, in both themes and three widths, empty and full, to be looked at."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from restante.identity.roles import Role
from tests.browser.furnished import Furnished, furnished
from tests.browser.pages import pages_of
from tests.support.chromium import chromium

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"
WIDTHS = (360, 1024, 1440)
HEIGHT = 900
BUSY = "Too busy just now"


def main(words: list[str]) -> None:
    """All of them; words narrow it to paths that contain one."""
    for full in (True, False):
        with tempfile.TemporaryDirectory(prefix="restante-") as folder:
            url = f"sqlite:///{folder}/mail.db"
            with chromium() as browser, furnished(url, Path(folder), full=full) as one:
                _take(one, browser, "full" if full else "empty", words)


def _take(one: Furnished, browser: Browser, name: str, words: list[str]) -> None:
    for role in (Role.TENANT_ADMIN, Role.PLATFORM_ADMIN):
        paths = [
            path
            for path in pages_of(one.world.app, role, one.ids)
            if (role is Role.TENANT_ADMIN) != path.startswith("/platform")
            and (not words or any(word in path for word in words))
        ]
        for theme in ("light", "dark"):
            for width in WIDTHS:
                how = {"color_scheme": theme, "viewport": {"width": width, "height": HEIGHT}}
                context = one.context(browser, role, **how)
                page = context.new_page()
                for path in paths:
                    file = (
                        FOLDER / name / f"{path.strip('/').replace('/', '-')}-{theme}-{width}.png"
                    )
                    _show(page, path)
                    page.screenshot(path=file, full_page=True)
                context.close()
    sys.stdout.write(f"{name}: {FOLDER / name}\n")


def _show(page: Page, path: str) -> None:
    """A machine that is busy shows it at last."""
    for _ in range(5):
        page.goto(path, wait_until="load")
        if BUSY not in page.content():
            return


if __name__ == "__main__":
    main(sys.argv[1:])
