"""Ids: UUIDv7 (RFC 9562, section 5.7) as 16 bytes inside, a prefix and 32 hex digits outside."""

from __future__ import annotations

import os
import struct
import threading
import time
from enum import StrEnum


class Prefix(StrEnum):
    """What an id names; the part before the underscore."""

    TENANT = "ten"
    PROJECT = "prj"
    AGENT = "agt"
    SERVICE = "svc"
    EVENT = "evt"
    CALLBACK = "cb"
    KEY = "key"
    OPERATOR = "opr"
    ASSIGNMENT = "asg"
    ROOM = "room"
    POST = "post"
    AUDIT = "aud"
    SESSION = "ses"
    JOB = "job"
    TEMPLATE = "tpl"


_FIELDS = struct.Struct(">IHHQ")  # the high and the low part of the time, version, variant


class _Maker:
    """Ids of one process, strictly increasing: the order in which one call lists its events."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self, count: int) -> list[bytes]:
        milliseconds, rest = divmod(time.time_ns(), 1_000_000)
        ticks = milliseconds << 12 | rest * 4096 // 1_000_000
        with self._lock:
            first = max(ticks, self._last + 1)
            self._last = first + count - 1
        tails = struct.unpack(f">{count}Q", os.urandom(8 * count))
        return [
            _FIELDS.pack(
                tick >> 28,
                tick >> 12 & 0xFFFF,
                0x7000 | tick & 0xFFF,
                tail & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000,
            )
            for tick, tail in enumerate(tails, first)
        ]


_maker = _Maker()


def new_id() -> bytes:
    """A new UUIDv7: later ones of this process compare greater."""
    return _maker.next(1)[0]


def new_ids(count: int) -> list[bytes]:
    """So many, ascending: at a hundred a fifth of the time that single ones take."""
    return _maker.next(count)


def encode_id(prefix: Prefix, raw: bytes) -> str:
    """`evt_` and 32 hex digits."""
    return prefix + "_" + raw.hex()


def decode_id(prefix: Prefix, text: str) -> bytes | None:
    """The 16 bytes, or None where the text is no id of that kind (which is then named by nobody)."""
    head, _, digits = text.partition("_")
    if head != prefix or len(digits) != 32:
        return None
    try:
        raw = bytes.fromhex(digits)
    except ValueError:
        return None
    return raw if raw.hex() == digits else None
