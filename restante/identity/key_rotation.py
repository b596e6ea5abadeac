"""Rotation of the server's keys: with overlap, by hand and by schedule, or one removed at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import delete
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import SERVER, Entry, Origin
from restante.errors import NotFound
from restante.identity.server_keys import Purpose, ServerKey, ServerKeys, live_keys, lock_keys
from restante.storage.clock import database_now
from restante.storage.tables.identity import token_key

KEY_SCHEDULE = "restante.key_schedule"
"""Key of `session.info`: the KeySchedule of this installation."""


@dataclass(frozen=True, slots=True)
class KeySchedule:
    """How old a key grows before it is rotated, and what its successor is sealed with."""

    secret_keys: Sequence[str] = field(repr=False)
    every: timedelta


@dataclass(frozen=True, slots=True)
class Rotated:
    """The ids of the keys that were made, and all that there are now."""

    made: tuple[str, ...]
    keys: tuple[ServerKey, ...]
    now: datetime


def rotate(session: Session, secret_keys: Sequence[str], *, by: Origin) -> Rotated:
    """A successor for the newest key of each purpose that has one, and of tokens.

    It is published now and signs once it is known wherever key sets are cached
    (server_keys.PUBLISHED_BEFORE); what the old one signed stays good until it ends by itself.
    Raises SealBroken where our secret keys are not those of the servers.
    """
    lock_keys(session)
    now = database_now(session)
    purposes = {key.purpose for key in live_keys(session, now)} | {Purpose.TOKEN}
    made = [_succeed(session, secret_keys, p, now=now, by=by) for p in sorted(purposes)]
    return Rotated(tuple(made), tuple(live_keys(session, now)), now)


def rotate_due(session: Session, schedule: KeySchedule) -> int:
    """Rotate what has grown old; returns how many keys were made. Any number of callers may ask."""
    if not _due(session, schedule, database_now(session)):
        return 0
    lock_keys(session)
    now = database_now(session)
    due = _due(session, schedule, now)  # another may have been first
    for purpose in due:
        _succeed(session, schedule.secret_keys, purpose, now=now, by=SERVER)
    return len(due)


def remove(session: Session, kid: str, secret_keys: Sequence[str], *, by: Origin) -> Rotated:
    """Remove a key at once: what it has signed is good nowhere once every node has looked again.

    Where no other signs, a new one does from now on. It need not open: a key that is known to
    somebody else has to go. Raises NotFound, with the keys that there are.
    """
    lock_keys(session)
    now = database_now(session)
    keys = live_keys(session, now)
    removed = next((key for key in keys if key.kid == kid), None)
    if removed is None:
        raise NotFound(f"There is no key {kid}; there are: {', '.join(k.kid for k in keys)}.")
    session.connection().execute(delete(token_key).where(token_key.c.kid == kid))
    record(session, Entry(None, by, Action.KEYS_REMOVE, kid, reason=f"{removed.purpose} key"))
    left = [k for k in keys if k.purpose is removed.purpose and k.kid != kid and k.may_sign(now)]
    made = []
    if not any(key.signs_until is None for key in left):
        # those that were going to end soon wait for the new successor to be known
        ours = ServerKeys(secret_keys, removed.purpose)
        ours.retire(session, [key.kid for key in left], now)
        made.append(ours.make(session, now)[0])
    return Rotated(tuple(made), tuple(live_keys(session, now)), now)


def _succeed(
    session: Session, secret_keys: Sequence[str], purpose: Purpose, *, now: datetime, by: Origin
) -> str:
    keys = ServerKeys(secret_keys, purpose)
    old = [key.kid for key in keys.live(session, now) if key.signs_until is None]
    if old:
        keys.signer(session, now)  # it opens: ours are the servers' secret keys
    keys.retire(session, old, now)
    kid, _ = keys.make(session, now)
    record(session, Entry(None, by, Action.KEYS_ROTATE, kid, reason=f"{purpose} key"))
    return kid


def _due(session: Session, schedule: KeySchedule, now: datetime) -> list[Purpose]:
    return sorted(
        key.purpose
        for key in live_keys(session, now)
        if key.signs_until is None and key.created_at <= now - schedule.every
    )
