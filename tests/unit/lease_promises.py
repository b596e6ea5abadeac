"""What must hold of every step of the lease machine, and the walk through all of its states."""

from __future__ import annotations

from collections import deque

from restante.inbox.lifecycle import (
    FINAL_GATES,
    PENDING_GATES,
    STATUS_OF,
    TRANSITIONS,
    Gate,
    Verb,
)
from tests.unit.lease_machine import FIRST, MOST_ATTEMPTS, Machine, Row, State, Step

MOST_STATES = 400_000
SETTLES = (Verb.ACK, Verb.RELEASE, "renew")
OVER = (*FINAL_GATES, Gate.QUARANTINED)


def broken(before: State, step: Step, after: State) -> str | None:
    """The promise that this step breaks, or None."""
    was, now = before.rows[step.event], after.rows[step.event]
    return (
        _broken_by_verb(was, step, now)
        or _broken_by_fence(before, step)
        or _broken_in_key(before, step, after)
    )


def _broken_by_verb(was: Row, step: Step, now: Row) -> str | None:
    status, ends = STATUS_OF[was.gate], STATUS_OF[now.gate]
    held = was.gate is Gate.CLAIMED and was.lease > 0
    is_holder = held and step.claim == len(was.claims) - 1
    claimed = step.verb == Verb.CLAIM
    lives_on = now.gate in (*PENDING_GATES, Gate.QUARANTINED)
    promises = {
        f"{status} to {ends} by {step.verb} is no transition": status is not ends
        and ends not in TRANSITIONS.get((status, step.verb), ()),
        "a generation went back": now.generation < was.generation,
        "more attempts than there may be": now.attempts > MOST_ATTEMPTS,
        "somebody settled who does not hold it": step.verb in SETTLES and not is_holder,
        "started after its expiry": claimed and was.start_within == 0,
        "handed out before its time": claimed and was.delay > 0,
        "a live claim was ended by somebody else": step.verb in (Verb.CANCEL, Verb.LEASE_END)
        and held
        and now.gate is not Gate.CLAIMED,
        "what was to be cancelled lives on": was.cancel and was.gate is Gate.CLAIMED and lives_on,
    }
    return next((promise for promise, is_broken in promises.items() if is_broken), None)


def _broken_by_fence(before: State, step: Step) -> str | None:
    if step.fence is not None and step.fence <= before.handed:
        return "a fence is not above those that were given"
    return None


def _broken_in_key(before: State, step: Step, after: State) -> str | None:
    active = [e for e, row in enumerate(after.rows) if row.gate not in (*OVER, Gate.WAITING)]
    if len(active) > 1:
        return "two of a key are in flight"
    if active and after.head != active[0]:
        return "the key does not know its head"
    if any(row.gate is Gate.WAITING for row in after.rows) and not active:
        return "what waits, waits for nobody"
    first, second = before.rows
    early = step.verb == Verb.CLAIM and step.event == 1 and first.gate not in OVER
    if early and not (first.redriven or second.redriven):
        return "the second of a key came before the first"
    return None


def counterexample(machine: Machine) -> tuple[list[Step], str] | None:
    """The shortest way to a broken promise, or None once every state has been visited."""
    came: dict[State, tuple[State, Step] | None] = {FIRST: None}
    waiting = deque([FIRST])
    while waiting:
        state = waiting.popleft()
        for step, after in machine.steps(state):
            if (promise := broken(state, step, after)) is not None:
                return [*_way(came, state), step], promise
            if after not in came:
                came[after] = (state, step)
                waiting.append(after)
        if len(came) > MOST_STATES:
            raise AssertionError("the machine has more states than are worth a test")
    return None


def count_states(machine: Machine) -> int:
    """How many there are."""
    seen, waiting = {FIRST}, [FIRST]
    while waiting:
        for _, after in machine.steps(waiting.pop()):
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return len(seen)


def _way(came: dict[State, tuple[State, Step] | None], state: State) -> list[Step]:
    way: list[Step] = []
    while (link := came[state]) is not None:
        state, step = link
        way.append(step)
    return way[::-1]
