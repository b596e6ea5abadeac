"""What a producer hands in, and what he is told of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import orjson

from restante.errors import ValidationFailed
from restante.identity.principal import Principal
from restante.inbox.envelope import Options, instant
from restante.inbox.lifecycle import DEFAULT_BACKOFF_BASE, DEFAULT_BACKOFF_MAX, Gate
from restante.storage.ids import Prefix, encode_id


# not frozen: that would set each of its members through object.__setattr__, 3 µs an event
@dataclass(slots=True, kw_only=True)
class Publication:
    """One message for one or many recipients (contract 6.1).

    `payload`: the JSON object's text, kept as it is. Instants are naive UTC. `backoff`: (base,
    longest) in seconds. `report`: ends that its producer wants to be told of. `more`: payloads of
    further messages that are the same but for them; not with an `idempotency_key`. With a
    `supersedes_key` it cancels its producer's older ones of that key that nobody holds (superseding.py).
    """

    recipients: tuple[bytes, ...]
    project: str
    type: str
    payload: bytes
    priority: int = 0
    correlation_id: str | None = None
    causation_id: str | None = None
    reply_to: bytes | None = None
    ordering_key: str | None = None
    available_at: datetime | None = None
    delay_seconds: float | None = None
    expires_at: datetime | None = None
    expires_in_seconds: float | None = None
    max_attempts: int | None = None
    backoff: tuple[float, float] | None = None
    corrects: bytes | None = None
    idempotency_key: str | None = None
    supersedes_key: str | None = None
    report: frozenset[str] = frozenset()
    traceparent: str | None = None
    more: tuple[bytes, ...] = ()

    def times(self, now: datetime, pointer: str) -> tuple[datetime, datetime | None]:
        """(available_at, expires_at); ValidationFailed unless it expires after it is available.

        Nothing is available before it is there: retention counts from then.
        """
        available = max(self.available_at or now, now)
        if self.delay_seconds is not None:
            available = now + timedelta(seconds=self.delay_seconds)
        expires = self.expires_at
        if self.expires_in_seconds is not None:
            expires = available + timedelta(seconds=self.expires_in_seconds)
        if expires is not None and expires <= available:
            raise ValidationFailed.at(
                f"{pointer}/expires_at",
                "must be after now and after available_at: an event that cannot start is not taken",
            )
        return available, expires

    def body_hash(self) -> bytes:
        """SHA-256 over everything but the recipients: the same body, for an idempotency key."""
        told = [
            getattr(self, name)
            for name in self.__dataclass_fields__
            if name not in _NOT_OF_THE_BODY
        ]
        if self.supersedes_key is not None:
            told.append(self.supersedes_key)
        return hashlib.sha256(repr(told).encode()).digest()

    def key_hash(self) -> bytes | None:
        """The ordering key's, so that keys are compared exactly."""
        return None if self.ordering_key is None else hash_key(self.ordering_key)

    def supersedes_hash(self, producer: Principal) -> bytes | None:
        """The superseding key's, one for each producer: what others have published is not its to cancel."""
        if not self.supersedes_key:
            return None
        return hashlib.sha256(producer.id + self.supersedes_key.encode()).digest()

    def options(self) -> bytes | None:
        """What the server keeps to itself, for its column."""
        if self.backoff is None and not self.report:
            return None
        base, most = self.backoff or (
            DEFAULT_BACKOFF_BASE.total_seconds(),
            DEFAULT_BACKOFF_MAX.total_seconds(),
        )
        return Options(timedelta(seconds=base), timedelta(seconds=most), self.report).dump()

    def told(self) -> tuple[object, ...]:
        """What of it the envelope is made of: the same, the same envelope."""
        return (
            self.project,
            self.type,
            self.priority,
            self.correlation_id,
            self.causation_id,
            self.reply_to,
            self.ordering_key,
            self.corrects,
            self.traceparent,
        )

    def envelope(self, producer: Principal, now: datetime) -> bytes:
        """The members that never change, as JSON."""
        reply_to, corrects = self.reply_to, self.corrects
        return orjson.dumps(
            {
                "project": self.project,
                "type": self.type,
                "priority": self.priority,
                "correlation_id": self.correlation_id,
                "causation_id": self.causation_id,
                "reply_to": None if reply_to is None else encode_id(Prefix.AGENT, reply_to),
                "ordering_key": self.ordering_key,
                "producer": {
                    "kind": producer.kind,
                    "id": producer.public_id,
                    "name": producer.name,
                    "signed": producer.signed,
                },
                "created_at": instant(now),
                "corrects": None if corrects is None else encode_id(Prefix.EVENT, corrects),
                "traceparent": self.traceparent,
            }
        )


# a retried request carries another trace, and names the same recipients in its own way; what came
# later is told only where it is said, so that keys from before are still known
_NOT_OF_THE_BODY = frozenset(
    {"recipients", "idempotency_key", "traceparent", "more", "supersedes_key"}
)


def numbered(publications: Sequence[Publication]) -> Iterator[tuple[int, Publication]]:
    """Each with the place that its first message has in the call."""
    at = 0
    for publication in publications:
        yield at, publication
        at += 1 + len(publication.more)


def hash_key(key: str) -> bytes:
    """SHA-256 of a key somebody else chose."""
    return hashlib.sha256(key.encode()).digest()


@dataclass(slots=True, kw_only=True)
class Published:
    """One event for one recipient. `sequence_number` is known once it is written (publish.write)."""

    event_id: bytes
    recipient_id: bytes
    gate: Gate
    sequence_number: int | None = None
    existing: bool = False


@dataclass(slots=True, kw_only=True)
class Arrival:
    """An event on its way into an inbox: what its row will be."""

    event_id: bytes
    recipient_id: bytes
    project_id: bytes
    rank: int
    max_attempts: int
    key_hash: bytes | None
    available_at: datetime
    expires_at: datetime | None
    envelope: bytes
    options: bytes | None
    payload: bytes
    published: Published | None = field(default=None, repr=False)
    # the hash of its producer and supersedes_key
    supersedes: bytes | None = None
