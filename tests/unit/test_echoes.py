"""What came directly is not rung for again when the table tells of it."""

from __future__ import annotations

from restante.signals.echoes import KEPT_SECONDS, Echoes
from restante.signals.rings import Ring

ME, OTHER, P = b"m" * 16, b"o" * 16, b"p" * 16


def everybody(recipient: bytes) -> bool:
    return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_echo_of_a_ring_is_no_news() -> None:
    echoes = Echoes(everybody)
    echoes.heard([Ring(ME, P, 5)])
    assert echoes.news([Ring(ME, P, 5)]) == []
    assert echoes.news([Ring(ME, P, 5)]) == [Ring(ME, P, 5)]


def test_rings_of_one_name_are_counted() -> None:
    """A release names no head: another process's must not pass for an echo of ours."""
    echoes = Echoes(everybody)
    echoes.heard([Ring(ME, P)])
    assert echoes.news([Ring(ME, P), Ring(ME, P)]) == [Ring(ME, P)]


def test_an_echo_may_come_before_its_ring() -> None:
    """The row is read before the commit's own bell or the datagram: it must not eat a later ring."""
    echoes = Echoes(everybody)
    assert echoes.news([Ring(ME, P)]) == [Ring(ME, P)]
    echoes.heard([Ring(ME, P)])
    assert echoes.news([Ring(ME, P)]) == [Ring(ME, P)]


def test_what_has_met_its_echo_is_not_forgotten_a_second_time() -> None:
    clock = Clock()
    echoes = Echoes(everybody, clock=clock)
    echoes.heard([Ring(ME, P)])
    assert echoes.news([Ring(ME, P)]) == []
    clock.now += KEPT_SECONDS - 1
    echoes.heard([Ring(ME, P)])
    clock.now += 2
    assert echoes.news([Ring(ME, P)]) == []


def test_what_was_heard_may_be_forgotten_at_once() -> None:
    echoes = Echoes(everybody)
    echoes.heard([Ring(ME, P)])
    echoes.forget_heard()
    assert echoes.news([Ring(ME, P)]) == [Ring(ME, P)]


def test_inboxes_without_listeners_are_no_news() -> None:
    echoes = Echoes(lambda recipient: recipient == ME)
    assert echoes.news([Ring(OTHER, P, 200), Ring(ME, P, 1)]) == [Ring(ME, P, 1)]


def test_what_was_rung_before_somebody_listened_is_an_echo_too() -> None:
    """Its commit came before the first look of the listener, which has seen it."""
    listeners: set[bytes] = set()
    echoes = Echoes(listeners.__contains__)
    echoes.heard([Ring(ME, P, 5), Ring(OTHER, P, 9)])
    assert echoes.news([Ring(OTHER, P, 9)]) == []
    listeners.update({ME, OTHER})
    assert echoes.news([Ring(ME, P, 5), Ring(OTHER, P, 9)]) == [Ring(OTHER, P, 9)]


def test_an_echo_that_never_comes_is_forgotten() -> None:
    clock = Clock()
    echoes = Echoes(everybody, clock=clock)
    echoes.heard([Ring(ME, P)])
    clock.now += KEPT_SECONDS + 1
    assert echoes.news([Ring(ME, P)]) == [Ring(ME, P)]
    assert not echoes._heard
    clock.now += KEPT_SECONDS + 1
    assert echoes.news([]) == []
    assert not echoes._met
