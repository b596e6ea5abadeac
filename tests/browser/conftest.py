"""`browser`: chromium; what cannot be had leaves its tests out, with CI set it fails them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.support.chromium import chromium
from tests.support.unavailable import had


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    context = chromium()
    yield had(context.__enter__)
    context.__exit__(None, None, None)
