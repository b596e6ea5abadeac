"""The restore drill on SQLite; `make drill` has it on servers, and a rolling restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.restoring import drill


@pytest.mark.timeout(300)
def test_readers_that_send_no_epoch_are_told_of_a_restore(tmp_path: Path) -> None:
    drill("sqlite", tmp_path)
