"""What is done to a group: whoever leads it is ended, or leads no more, and comes back."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator

from tests.chaos.house import House
from tests.support.group import Group

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
    """Another is made primary by hand; the one before goes on, and takes no writes."""
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


IN_A_GROUP: dict[str, Fault] = {
    "primary killed": primary_killed,
    "primary ended": primary_ended,
    "primary changed": primary_changed,
    "primary stopped": primary_stopped,
    "secondary killed": secondary_killed,
}
