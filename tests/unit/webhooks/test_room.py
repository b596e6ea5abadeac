"""Whom a relay has room for."""

from __future__ import annotations

from typing import NamedTuple

from restante.webhooks.room import AILING_PLACES, PLACES, TENANT_PLACES, Room


class Want(NamedTuple):
    tenant_id: bytes
    ails: bool = False
    number: int = 0


def wants(tenant: bytes, count: int, *, ails: bool = False) -> list[Want]:
    return [Want(tenant, ails, number) for number in range(count)]


def test_receivers_that_hang_fill_their_own_places_and_no_others() -> None:
    hanging = [Want(b"t%d" % n, ails=True) for n in range(200)]
    taken, full = Room().choose(hanging + wants(b"well", 3))
    assert sum(one.ails for one in taken) == AILING_PLACES
    assert [one for one in taken if not one.ails] == wants(b"well", 3)
    assert len(full) == 200 - AILING_PLACES
    later, _ = Room.beside(taken).choose(hanging + wants(b"well", 1))
    assert later == wants(b"well", 1)


def test_a_tenant_fills_no_more_than_its_share() -> None:
    taken, full = Room().choose(wants(b"loud", 100))
    assert (len(taken), len(full)) == (TENANT_PLACES, 100 - TENANT_PLACES)
    again, _ = Room.beside(taken).choose(wants(b"loud", 100) + wants(b"quiet", 2))
    assert again == wants(b"quiet", 2)


def test_tenants_take_turns_and_who_holds_places_comes_later() -> None:
    both = wants(b"loud", 3) + wants(b"quiet", 1)
    taken, full = Room(free=2).choose(both)
    assert [one.tenant_id for one in taken] == [b"loud", b"quiet"]
    assert full == []  # they come first once there is room
    taken, _ = Room(free=1, held={b"loud": 1}).choose(both)
    assert [one.tenant_id for one in taken] == [b"quiet"]


def test_no_more_than_there_is_room_for() -> None:
    many = [Want(b"t%d" % n) for n in range(200)]
    taken, full = Room().choose(many)
    assert (taken, full) == (many[:PLACES], [])
    assert Room.beside(taken).choose(many) == ([], [])
