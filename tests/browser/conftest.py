"""`browser`: chromium; what cannot be had leaves its tests out, with CI set it fails them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TypeVar

import pytest
from playwright.sync_api import Browser

from tests.support.chromium import chromium
from tests.support.unavailable import Unavailable

T = TypeVar("T")


def had(make: Callable[[], T]) -> T:
    """What is made; where it cannot be had here, the test is left out and says why."""
    try:
        return make()
    except Unavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"left out: {error}")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    context = chromium()
    yield had(context.__enter__)
    context.__exit__(None, None, None)
