"""What was tried, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass


class Leak(Exception):
    """A promise that is not kept; the message says which, and how it was seen."""


@dataclass(frozen=True, slots=True)
class Check:
    """One promise by its name. `detail`: what was done, or what was seen instead."""

    name: str
    ok: bool
    detail: str


def expect(holds: object, sentence: str) -> None:
    """Raise Leak, with the sentence, unless it holds."""
    if not holds:
        raise Leak(sentence)
