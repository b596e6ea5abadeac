"""What an agent remembers, asked and answered (contract 5.7 to 5.9)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from restante_agent.model.publish import Publication, PublishedEvent
from restante_agent.model.settle import Ack, Acked, Reject, Release, Released


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEntry:
    """A key as it is. `deleted`: it was taken away at this version, and `value` is None.

    Versions are given once in an agent's memory: the higher one is always the newer.
    """

    project: str
    key: str
    version: int
    value: Any = None
    deleted: bool = False
    updated_at: datetime | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryChanges:
    """The keys that changed, in the order of their last writes; go on after `memory_revision`."""

    entries: tuple[MemoryEntry, ...]
    memory_revision: int
    has_more: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """One write of a turn. A `value` of None deletes the key.

    `if_version`: only if the key is at it; 0: only if it is not there.
    """

    project: str
    key: str
    value: Any
    if_version: int | None = None

    def as_json(self) -> dict[str, Any]:
        """The body of the contract."""
        members = {"project": self.project, "key": self.key, "value": self.value}
        return members if self.if_version is None else {**members, "if_version": self.if_version}


@dataclass(frozen=True, slots=True)
class Turn:
    """What a handler may return: its answer, its follow-ups and what it learnt, all or nothing.

    `ack`: the result, as of ``Ack``; or give a `release` or a `reject` instead. `memory`: values by
    key, in the event's project (None deletes), or MemoryWrites.
    """

    ack: Ack | Mapping[str, Any] | None = None
    release: Release | None = None
    reject: Reject | None = None
    publish: Sequence[Publication] = ()
    memory: Mapping[str, Any] | Sequence[MemoryWrite] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """What came of a turn, part by part. `replayed`: the call was a repeat."""

    ack: tuple[Acked, ...] = ()
    release: tuple[Released, ...] = ()
    reject: tuple[Released, ...] = ()
    memory: tuple[MemoryEntry, ...] = ()
    publish: tuple[PublishedEvent, ...] = ()
    replayed: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
