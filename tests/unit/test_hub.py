"""The doorbell of one process: flags, not queues."""

from __future__ import annotations

import threading

from restante.signals.hub import Hub
from restante.signals.rings import Ring
from tests.support.waiting import wait_until

ME, OTHER = b"m" * 16, b"o" * 16
P, Q = b"p" * 16, b"q" * 16


def test_a_ring_reaches_who_covers_its_project_and_nobody_else() -> None:
    hub = Hub()
    mine, foreign, elsewhere = hub.listen(ME, [P]), hub.listen(ME, [Q]), hub.listen(OTHER, [P])
    hub.ring_many([Ring(ME, P, 5)])
    assert (mine.take(), foreign.take(), elsewhere.take()) == (True, False, False)


def test_the_head_is_the_inboxes_whatever_the_project() -> None:
    hub = Hub()
    bell = hub.listen(ME, [P])
    hub.ring_many([Ring(ME, Q, 7)])
    assert (bell.rung, bell.head) == (False, 7)
    hub.ring_many([Ring(ME, P, 6)])
    assert (bell.rung, bell.head) == (True, 7)


def test_rings_that_nobody_has_heard_are_one_ring() -> None:
    hub = Hub()
    bell = hub.listen(ME, [P])
    for head in range(1, 1001):
        hub.ring_many([Ring(ME, P, head)])
    assert hub.rings == 1
    assert bell.wait(0)
    assert not bell.wait(0)
    assert bell.head == 1000


def test_a_ring_before_the_wait_is_not_lost() -> None:
    hub = Hub()
    with hub.listen(ME, [P]) as bell:
        hub.ring_many([Ring(ME, P)])
        assert bell.wait(0)


def test_who_has_left_is_not_rung_and_leaves_nothing_behind() -> None:
    hub = Hub()
    with hub.listen(ME, [P]) as bell, hub.listen(ME, [P]):
        pass
    assert hub.hear_many([Ring(ME, P)]) == 0
    assert not bell.rung
    assert not hub.listens(ME)
    bell.close()  # again


def test_a_waiting_thread_is_woken() -> None:
    hub, heard = Hub(), threading.Event()
    bell = hub.listen(ME, [P])
    thread = threading.Thread(target=lambda: bell.wait(30) and heard.set())
    thread.start()
    hub.ring_many([Ring(ME, P)])
    assert heard.wait(30)
    thread.join(30)


def test_draining_ends_every_wait_and_is_no_ring() -> None:
    hub = Hub()
    answers: list[bool] = []
    bells = [hub.listen(ME, [P]) for _ in range(3)]
    threads = [threading.Thread(target=lambda b=b: answers.append(b.wait(30))) for b in bells]
    for thread in threads:
        thread.start()
    hub.drain()
    wait_until(lambda: len(answers) == 3, "the waits to end")
    assert answers == [False, False, False]
    assert not hub.listen(ME, [P]).wait(30)


def test_only_rings_made_here_are_forwarded() -> None:
    hub, forwarded = Hub(), []
    hub.forward = forwarded.extend
    hub.hear_many([Ring(ME, P)])
    assert forwarded == []
    hub.ring_many([Ring(ME, P, 3)])
    assert forwarded == [Ring(ME, P, 3)]
