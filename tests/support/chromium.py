"""A real browser, driven by playwright: the system's chromium, since playwright's own is a download."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.support.browsing import BROWSERS
from tests.support.unavailable import Unavailable

STEP_MILLISECONDS = 60_000


@contextmanager
def chromium() -> Iterator[Browser]:
    """The browser, ended with the block; raises Unavailable where there is none."""
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        raise Unavailable(f"none of {', '.join(BROWSERS)} is on this machine")
    with sync_playwright() as player:
        # without its sandbox, which root has not; nothing but loopback is opened
        browser = player.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=STEP_MILLISECONDS
        )
        try:
            yield browser
        finally:
            browser.close()
