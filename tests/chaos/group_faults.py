"""What is done to a group: whoever leads it is ended, cut off, or leads no more, and comes back."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.chaos.house import House
from tests.chaos.owner import opened_by
from tests.chaos.proxy import Trouble
from tests.support.group import Group
from tests.support.servers import Server
from tests.support.waiting import wait_until

CHOOSING_SECONDS = 60.0
MEMBERS = "SELECT 1 FROM performance_schema.replication_group_members"
Fault = Callable[[House, random.Random], Iterator[None]]


def _group(house: House) -> Group:
    assert house.cellar.group is not None
    return house.cellar.group


def primary_killed(house: House, draw: random.Random) -> Iterator[None]:
    """SIGKILL; the others choose another, and it comes back among them."""
    group = _group(house)
    member = group.primary()
    member.kill()
    yield
    group.primary()
    group.bring_back(member)


def primary_ended(house: House, draw: random.Random) -> Iterator[None]:
    """SIGTERM, as for an upgrade: it takes its leave of the group."""
    group = _group(house)
    member = group.primary()
    member.stop()
    yield
    group.primary()
    group.bring_back(member)


def primary_changed(house: House, draw: random.Random) -> Iterator[None]:
    """Another is made primary by hand; the one before goes on, and takes no writes.

    The group waits for every open transaction, and with it for a snapshot that is held: it is let go.
    """
    house.snapshot.close()
    group = _group(house)
    ((name,),) = group.secondary().execute("SELECT @@server_uuid")
    group.primary().execute(f"SELECT group_replication_set_as_primary('{name}')")
    yield


def primary_stopped(house: House, draw: random.Random) -> Iterator[None]:
    """SIGSTOP, for less time than the others bear with."""
    process = _group(house).primary().process
    process.signal(signal.SIGSTOP)
    yield
    process.signal(signal.SIGCONT)


def secondary_killed(house: House, draw: random.Random) -> Iterator[None]:
    """SIGKILL to one that follows."""
    group = _group(house)
    member = group.secondary()
    member.kill()
    yield
    group.bring_back(member)


def primary_cut_off(house: House, draw: random.Random) -> Iterator[None]:
    """The others hear nothing of it, nor it of them, until they have another; clients reach all three."""
    group = _group(house)
    member = group.primary()
    with _apart(house, member):
        yield
        _until(lambda: group.has_primary_besides(member), "the others have a primary")


def primary_unheard(house: House, draw: random.Random) -> Iterator[None]:
    """The same for a moment, which is less than the others bear with."""
    with _apart(house, _group(house).primary()):
        yield


def secondary_cut_off(house: House, draw: random.Random) -> Iterator[None]:
    """The same to one that follows, until it is no longer counted."""
    group = _group(house)
    member = group.secondary()
    with _apart(house, member):
        yield
        _until(lambda: len(group.primary().execute(MEMBERS)) < len(group.members), "it is left out")


@contextmanager
def _apart(house: House, member: Server) -> Iterator[None]:
    """Between this member and the others of its group nothing passes, either way; then all are one again."""
    group = _group(house)
    from_it = opened_by(member.process.pid)
    for other, wire in zip(group.members, house.cellar.between, strict=True):
        if other is member:
            wire.trouble(Trouble.APART)
        else:
            wire.trouble(Trouble.APART, from_it)
    yield
    for wire in house.cellar.between:
        wire.heal()
    group.wait_until_whole(mending=member)


def _until(is_so: Callable[[], bool], what: str) -> None:
    wait_until(is_so, what, timeout_seconds=CHOOSING_SECONDS)


IN_A_GROUP: dict[str, Fault] = {
    "primary killed": primary_killed,
    "primary ended": primary_ended,
    "primary changed": primary_changed,
    "primary stopped": primary_stopped,
    "secondary killed": secondary_killed,
    "primary cut off": primary_cut_off,
    "primary unheard": primary_unheard,
    "secondary cut off": secondary_cut_off,
}
