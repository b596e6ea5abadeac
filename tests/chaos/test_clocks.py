"""A program whose clock is off sleeps as long as it is told to, and goes on."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.chaos.clocks import off_by
from tests.chaos.house import BROKEN
from tests.support.unavailable import had


def test_who_lives_in_another_hour_sleeps_all_the_same() -> None:
    env = had(lambda: off_by(5))
    code = (
        "import threading, time; began = time.monotonic(); time.sleep(0.05);"
        "threading.Event().wait(0.05); print(time.time(), time.monotonic() - began >= 0.1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **env, "PYTHONPATH": str(BROKEN)},
        capture_output=True,
        text=True,
        check=True,
    )
    now, slept = done.stdout.split()
    ours = subprocess.run(
        [sys.executable, "-c", "import time; print(time.time())"], capture_output=True, check=True
    )
    assert float(now) > float(ours.stdout) + 4 * 3600
    assert slept == "True"
