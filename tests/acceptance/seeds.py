"""A run's seed: drawn, printed, and given again by RESTANTE_TEST_SEED to see the same run."""

from __future__ import annotations

import os
import random
import sys


def drawn_seed() -> int:
    """The seed of this run, for a program that prints it with what it does."""
    return int(os.environ.get("RESTANTE_TEST_SEED") or random.SystemRandom().randrange(10**6))


def new_seed() -> int:
    """The seed of this run, printed; pytest shows it when the test fails."""
    seed = drawn_seed()
    say(f"seed {seed}")
    return seed


def say(text: str) -> None:
    """A line at once, for whoever watches or reads the failure."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
