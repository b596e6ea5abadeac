"""The lease machine as a model of rows: two events of one key, two consumers, two scavengers.

Its fence, gates and transitions are those of `restante/inbox/lifecycle.py`; what the verbs do to rows is
written down again, in one place, each guard by a name under which it can be left out. Time is what is
left of a lease, a delay, a wait, so that there are finitely many states, and every one is visited.
A message of a consumer is never used up: whatever a claim gave may be sent at any later time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from restante.inbox import lifecycle
from restante.inbox.lifecycle import FINAL_GATES, PENDING_GATES, ClaimEnd, Gate, Lease, Verb

NOW = datetime(2030, 1, 1)
MOST_ATTEMPTS = 2
MOST_CLAIMS = 3
LEASE = 1
WAIT = 2


class Guard(StrEnum):
    """What keeps the books right, and may be left out."""

    CLAIM_TAKES_THE_CLAIMABLE = "a claim takes only what is claimable"
    CLAIM_LOOKS_AT_EXPIRY = "a claim leaves alone what may not be started any more"
    CLAIM_IS_A_GENERATION = "a claim is a new generation"
    SETTLE_IS_FENCED = "a settle passes the fence"
    SCAVENGER_LOOKS_AGAIN = "a scavenger looks again under the lock"
    ATTEMPTS_END = "a failure with no attempts left is quarantine"
    FAILURE_SEES_CANCEL = "a failure of what is to be cancelled cancels it"
    RELEASE_SEES_CANCEL = "a release of what is to be cancelled cancels it"
    CANCEL_LEAVES_FINAL = "a cancel leaves alone what is final"
    CANCEL_ASKS_A_HOLDER = "a cancel of what is held only asks"
    REDRIVE_OF_QUARANTINE = "a redrive takes what is in quarantine"
    REDRIVE_WAITS = "a redriven event waits for its key"
    REDRIVE_BUDGET = "a redrive opens a new budget"
    REDRIVE_FENCES = "a redriven head has fences above all given"
    HEAD_ALONE_LEAVES = "only the end of the head gives its place away"
    END_LEAVES_KEY = "an end leaves the key"
    QUARANTINE_LEAVES_KEY = "a quarantine leaves the key"
    KEY_KEEPS_FENCE = "a key remembers the last fence"
    PROMOTED_FENCES = "a promoted head has fences above all given"


class Row(NamedTuple):
    """An event. `claims`: the generation that each claim of it was told, what messages carry."""

    gate: Gate
    generation: int = 0
    lease: int = 0
    ended_by: ClaimEnd = ClaimEnd.NONE
    attempts: int = 0
    delay: int = 0
    start_within: int | None = None
    cancel: bool = False
    redriven: bool = False
    fence_base: int = 0
    claims: tuple[int, ...] = ()


class State(NamedTuple):
    """The two rows, their key, and what scavengers have seen before they lock. `handed`: the last fence."""

    rows: tuple[Row, Row]
    head: int | None
    fence: int
    handed: int
    noticed: tuple[int, ...]


class Step(NamedTuple):
    """Something that happened: a verb on an event, by the message of its nth claim if by one."""

    verb: Verb | str
    event: int
    claim: int | None = None
    fence: int | None = None


FIRST = State(
    (Row(Gate.CLAIMABLE, start_within=WAIT), Row(Gate.WAITING)),
    head=0,
    fence=0,
    handed=0,
    noticed=(),
)


class Machine:
    """What can happen next. `without`: a guard that is left out; `fence`: in place of the real one."""

    def __init__(
        self,
        without: Guard | None = None,
        fence: Callable[[Lease, int, datetime], object] = lifecycle.fence,
    ) -> None:
        self._without = without
        self._fence = fence

    def _has(self, guard: Guard) -> bool:
        return guard is not self._without

    def steps(self, state: State) -> Iterator[tuple[Step, State]]:
        """Every step that a process may take now, and what comes of it."""
        yield Step("tick", 0), _tick(state)
        for event, row in enumerate(state.rows):
            yield from self._claims(state, event, row)
            for number, generation in enumerate(row.claims):
                if not self._has(Guard.SETTLE_IS_FENCED) or self._holds(row, generation):
                    yield from self._settles(state, event, row, number)
            if is_due(row) and len(state.noticed) < 2:
                yield (
                    Step("notice", event),
                    state._replace(noticed=tuple(sorted((*state.noticed, event)))),
                )
            yield from self._operator(state, event, row)
        for event in set(state.noticed):
            yield from self._scavenges(state, event)

    def _holds(self, row: Row, generation: int) -> bool:
        ends = NOW + timedelta(seconds=row.lease) if row.gate is Gate.CLAIMED else None
        lease = Lease(row.gate, row.generation, ends, row.ended_by)
        return self._fence(lease, generation, NOW) is None

    def _claims(self, state: State, event: int, row: Row) -> Iterator[tuple[Step, State]]:
        takes = (Gate.CLAIMABLE,) if self._has(Guard.CLAIM_TAKES_THE_CLAIMABLE) else PENDING_GATES
        late = row.start_within == 0 and self._has(Guard.CLAIM_LOOKS_AT_EXPIRY)
        if row.gate not in takes or late or len(row.claims) >= MOST_CLAIMS:
            return
        generation = row.generation + self._has(Guard.CLAIM_IS_A_GENERATION)
        fence = row.fence_base + generation
        taken = row._replace(
            gate=Gate.CLAIMED,
            generation=generation,
            lease=LEASE,
            attempts=row.attempts + 1,
            delay=0,
            claims=(*row.claims, generation),
        )
        yield Step(Verb.CLAIM, event, fence=fence), _put(state, event, taken, handed=fence)

    def _settles(
        self, state: State, event: int, row: Row, number: int
    ) -> Iterator[tuple[Step, State]]:
        yield Step(Verb.ACK, event, number), self._finish(state, event, Gate.COMPLETED)
        yield Step("renew", event, number), _put(state, event, row._replace(lease=LEASE))
        for delay in (0, 1):
            yield Step(Verb.RELEASE, event, number), self._give_back(state, event, row, delay)
            failed = self._fail(state, event, row, delay, ClaimEnd.GIVEN_BACK)
            yield Step(Verb.RELEASE, event, number), failed

    def _operator(self, state: State, event: int, row: Row) -> Iterator[tuple[Step, State]]:
        if row.gate not in FINAL_GATES or not self._has(Guard.CANCEL_LEAVES_FINAL):
            held = row.gate is Gate.CLAIMED and row.lease > 0
            if held and self._has(Guard.CANCEL_ASKS_A_HOLDER):
                yield Step(Verb.CANCEL, event), _put(state, event, row._replace(cancel=True))
            else:
                yield Step(Verb.CANCEL, event), self._finish(state, event, Gate.CANCELLED)
        quarantined = row.gate is Gate.QUARANTINED or not self._has(Guard.REDRIVE_OF_QUARANTINE)
        if quarantined and not row.redriven:
            yield Step(Verb.REDRIVE, event), self._redrive(state, event, row)

    def _redrive(self, state: State, event: int, row: Row) -> State:
        attempts = 0 if self._has(Guard.REDRIVE_BUDGET) else row.attempts
        within = None if row.start_within == 0 else row.start_within
        row = row._replace(attempts=attempts, redriven=True, start_within=within, delay=0)
        if state.head is None:
            base = state.fence - row.generation
            row = row._replace(fence_base=base) if self._has(Guard.REDRIVE_FENCES) else row
            return _put(state, event, row._replace(gate=Gate.CLAIMABLE), head=event)
        waits = state.head != event and self._has(Guard.REDRIVE_WAITS)
        return _put(state, event, row._replace(gate=Gate.WAITING if waits else Gate.CLAIMABLE))

    def _scavenges(self, state: State, event: int) -> Iterator[tuple[Step, State]]:
        rest = list(state.noticed)
        rest.remove(event)
        state = state._replace(noticed=tuple(rest))
        row = state.rows[event]
        if self._has(Guard.SCAVENGER_LOOKS_AGAIN) and not is_due(row):
            yield Step("pass over", event), state
        elif row.gate is Gate.CLAIMED:
            for delay in (0, 1):
                ended = self._fail(state, event, row, delay, ClaimEnd.LEASE_OVER)
                yield Step(Verb.LEASE_END, event), ended
        elif row.start_within == 0:
            yield Step(Verb.EXPIRE, event), self._finish(state, event, Gate.EXPIRED)
        else:
            yield Step(Verb.DUE, event), _wait(state, event, row, 0)

    def _give_back(self, state: State, event: int, row: Row, delay: int) -> State:
        if row.cancel and self._has(Guard.RELEASE_SEES_CANCEL):
            return self._finish(state, event, Gate.CANCELLED)
        if row.start_within == 0:
            return self._finish(state, event, Gate.EXPIRED)
        row = row._replace(attempts=row.attempts - 1, ended_by=ClaimEnd.GIVEN_BACK)
        return _wait(state, event, row, delay)

    def _fail(self, state: State, event: int, row: Row, delay: int, by: ClaimEnd) -> State:
        if row.cancel and self._has(Guard.FAILURE_SEES_CANCEL):
            return self._finish(state, event, Gate.CANCELLED)
        row = row._replace(ended_by=by)
        if row.attempts >= MOST_ATTEMPTS and self._has(Guard.ATTEMPTS_END):
            state = _put(state, event, row._replace(gate=Gate.QUARANTINED, lease=0))
            leaves = self._has(Guard.QUARANTINE_LEAVES_KEY)
            return self._leave(state, event) if leaves else state
        if row.start_within == 0:
            return self._finish(state, event, Gate.EXPIRED)
        return _wait(state, event, row, delay)

    def _finish(self, state: State, event: int, gate: Gate) -> State:
        row = state.rows[event]._replace(gate=gate, lease=0, delay=0)
        state = _put(state, event, row)
        return self._leave(state, event) if self._has(Guard.END_LEAVES_KEY) else state

    def _leave(self, state: State, event: int) -> State:
        """As ordering.leave: the head's place goes to the one that waits."""
        if state.head != event and self._has(Guard.HEAD_ALONE_LEAVES):
            return state
        row = state.rows[event]
        last = max(state.fence, row.fence_base + row.generation)
        fence = last if self._has(Guard.KEY_KEEPS_FENCE) else state.fence
        other = 1 - event
        waits = state.rows[other]
        if waits.gate is not Gate.WAITING:
            return state._replace(head=None, fence=fence)
        base = fence - waits.generation if self._has(Guard.PROMOTED_FENCES) else waits.fence_base
        promoted = waits._replace(gate=Gate.CLAIMABLE, fence_base=base)
        return _put(state._replace(fence=fence), other, promoted, head=other)


def is_due(row: Row) -> bool:
    """Whether its timer has run out."""
    if row.gate is Gate.CLAIMED:
        return row.lease == 0
    if row.gate is Gate.DELAYED and row.delay == 0:
        return True
    return row.gate in PENDING_GATES and row.start_within == 0


def _wait(state: State, event: int, row: Row, delay: int) -> State:
    gate = Gate.DELAYED if delay else Gate.CLAIMABLE
    return _put(state, event, row._replace(gate=gate, lease=0, delay=delay))


def _put(state: State, event: int, row: Row, **changes: int | None) -> State:
    rows = (row, state.rows[1]) if event == 0 else (state.rows[0], row)
    return state._replace(rows=rows, **changes)  # type: ignore[arg-type]  # fields by their names


def _tick(state: State) -> State:
    first, second = (
        row._replace(
            lease=max(row.lease - 1, 0),
            delay=max(row.delay - 1, 0),
            start_within=None if row.start_within is None else max(row.start_within - 1, 0),
        )
        for row in state.rows
    )
    return state._replace(rows=(first, second))
