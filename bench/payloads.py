"""JSON objects of one size, each with an id that no other series has."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

SIZE = 300
"""Bytes of a payload."""


def payloads(series: int) -> Iterator[bytes]:
    """Endless payloads of a series."""
    for number in itertools.count(series * 10_000_000):
        head = b'{"id":%d,"type":"bench","text":"' % number
        yield head + b"x" * (SIZE - len(head) - 2) + b'"}'
