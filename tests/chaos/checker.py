"""The checker: a pure function of what clients did and what the database has.

A call whose outcome is open may have happened or not; nothing else is excused. Each rule is a
function of the run that yields what is wrong; tests/unit/test_chaos_checker.py has a wrong run for
each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tests.chaos import claims
from tests.chaos.books import Books, Row
from tests.chaos.history import Call, Outcome


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was not kept."""

    rule: str
    detail: str


@dataclass
class Run:
    """What is judged, with what several rules look up."""

    calls: list[Call]
    books: Books

    def __post_init__(self) -> None:
        self.rows = {row.event_id: row for row in self.books.rows}
        self.claims = claims.claims(self.calls)

    def of(self, *verbs: str) -> list[Call]:
        """The calls of these verbs, as they were sent."""
        return [call for call in self.calls if call.verb in verbs]


def violations(calls: list[Call], books: Books) -> list[Violation]:
    """Everything that is wrong with a run; empty where every promise was kept."""
    run = Run(calls, books)
    return [Violation(name, detail) for name, rule in RULES.items() for detail in rule(run)]


def nothing_lost(run: Run) -> Iterator[str]:
    """What was answered 201 is there, under the name and for whom it was published."""
    for call in run.of("publish"):
        if call.outcome is not Outcome.OK:
            continue
        for wanted, event in zip(_wanted(call), call.told["events"], strict=True):
            row = run.rows.get(event["event_id"])
            if row is None or (row.name, row.recipient_id) != wanted:
                yield f"{event['event_id']} of {wanted[0]} was acknowledged and is not there"


def nothing_torn(run: Run) -> Iterator[str]:
    """Of a publish all events are there or none, and none that nobody published."""
    there = {(row.name, row.recipient_id) for row in run.books.rows}
    asked = set()
    for call in run.of("publish"):
        wanted = set(_wanted(call))
        asked |= wanted
        if 0 < len(wanted & there) < len(wanted):
            yield f"of {call.asked['key']} only {sorted(wanted & there)} is there"
    for name, recipient in there - asked:
        yield f"nobody published {name or 'an event without a name'} for {recipient}"


def keys_answered_once(run: Run) -> Iterator[str]:
    """One Idempotency-Key makes one set of events, whoever repeats it and when."""
    answers: dict[str, list[str]] = {}
    for call in run.of("publish"):
        if call.outcome is Outcome.OK:
            made = [event["event_id"] for event in call.told["events"]]
            first = answers.setdefault(call.asked["key"], made)
            if first != made:
                yield f"{call.asked['key']} was answered with {first} and with {made}"
    seen: dict[tuple[str, str], str] = {}
    for row in run.books.rows:
        other = seen.setdefault((row.name, row.recipient_id), row.event_id)
        if other != row.event_id:
            yield f"{row.name} is there twice: {other}, {row.event_id}"


def dense(run: Run) -> Iterator[str]:
    """The numbers of an inbox are 1 to its head, each once; an answer told the row's number."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in run.books.rows:
        if row.sequence is not None:
            numbers[row.recipient_id].append(row.sequence)
    for recipient, head in run.books.heads.items():
        there = sorted(numbers[recipient])
        if there != list(range(1, head + 1)):
            missing = sorted(set(range(1, head + 1)) - set(there))[:5]
            yield f"{recipient} has {len(there)} numbers up to {head}, missing are {missing}"
    for call in run.of("publish"):
        for event in call.told.get("events", ()):
            told, known = event.get("sequence_number"), run.rows.get(event["event_id"])
            if known is not None and told not in (None, known.sequence):
                yield f"{event['event_id']} was answered as {told} and is {known.sequence}"


def commit_order(run: Run) -> Iterator[str]:
    """What was published after another was acknowledged has the higher number."""
    first_sent: dict[str, int] = {}
    acknowledged: dict[str, tuple[int, dict[str, int]]] = {}
    for call in run.of("publish"):
        key = call.asked["key"]
        first_sent.setdefault(key, call.sent_at)
        if call.outcome is Outcome.OK and call.answered_at is not None:
            now = {
                e["recipient_id"]: e["sequence_number"]
                for e in reversed(call.told["events"])
                if e["sequence_number"] is not None
            }
            known = acknowledged.get(key)
            if known is None or call.answered_at < known[0]:
                acknowledged[key] = call.answered_at, now
    ends = sorted(acknowledged.values(), key=lambda end: end[0])
    highest: dict[str, int] = {}
    place = 0
    for key in sorted(acknowledged, key=first_sent.__getitem__):
        while place < len(ends) and ends[place][0] < first_sent[key]:
            for recipient, number in ends[place][1].items():
                highest[recipient] = max(number, highest.get(recipient, 0))
            place += 1
        for recipient, number in acknowledged[key][1].items():
            if number < highest.get(recipient, 0):
                yield f"{key} got {number} in {recipient} after {highest[recipient]} was known"


def nothing_skipped(run: Run) -> Iterator[str]:
    """A page has every number between its cursors: nothing came later below, nothing was purged unsaid."""
    for call in run.of("read"):
        if call.outcome is Outcome.OK:
            after, up_to = call.asked["after"], call.told["next_cursor"]
            if call.told["numbers"] != list(range(after + 1, up_to + 1)):
                seen = call.told["numbers"]
                yield f"{call.client} read after {after} up to {up_to}, and saw {seen}"


def no_stale_settle(run: Run) -> Iterator[str]:
    """Only the current claim settles, while its lease lasts, and what is completed was acked by it."""
    tried: dict[tuple[str, int], int] = {}
    for call in run.of("ack", "release", "reject"):
        event, generation = call.asked["event_id"], call.asked["generation"]
        row = run.rows.get(event)
        if call.verb == "ack":
            tried.setdefault((event, generation), call.sent_at)
        if call.outcome is not Outcome.OK or row is None:
            continue
        claim = run.claims.get((event, generation))
        since = tried[event, generation] if call.verb == "ack" else call.sent_at
        if claim is None or since > claim.over_at:
            yield f"{call.verb} of {event} by claim {generation} was taken without a live lease"
        if call.verb == "ack" and (row.status, row.generation) != ("completed", generation):
            yield f"{event} was acked by claim {generation}, is {row.status} of {row.generation}"
    for row in run.books.rows:
        if row.status == "completed" and (row.event_id, row.generation) not in tried:
            yield f"{row.event_id} was completed by claim {row.generation}, which never acked"


def one_holder(run: Run) -> Iterator[str]:
    """An event, and an ordering key of an inbox, is in one hand at a time."""
    hands: dict[tuple[str, ...], list[claims.Claim]] = defaultdict(list)
    for claim in run.claims.values():
        row = run.rows.get(claim.event_id)
        hands[(claim.event_id,)].append(claim)
        if row is not None and row.key is not None:
            hands[row.recipient_id, row.key].append(claim)
    for what, of_it in hands.items():
        held = sorted((c for c in of_it if c.got_at < c.surely_until), key=lambda c: c.got_at)
        for before, after in pairwise(held):
            if after.got_at < before.surely_until:
                yield f"{what}: {after.name} was handed out while {before.name} was held"


def keys_in_order(run: Run) -> Iterator[str]:
    """A key's numbers are dense and rise with the inbox's; its fences rise; nothing overtakes in it."""
    keys: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in run.books.rows:
        if row.key is not None and row.sequence is not None:
            keys[row.recipient_id, row.key].append(row)
    by_event: dict[str, list[claims.Claim]] = defaultdict(list)
    for claim in run.claims.values():
        by_event[claim.event_id].append(claim)
    for key, rows in keys.items():
        rows.sort(key=lambda row: row.sequence or 0)
        if [row.ordering_sequence for row in rows] != list(range(1, len(rows) + 1)):
            yield f"{key} is numbered {[row.ordering_sequence for row in rows]}"
        yield from _fences_that_fell(key, [c for row in rows for c in by_event[row.event_id]])
        yield from _overtaken(run, key, rows, by_event)


def _fences_that_fell(key: tuple[str, str], taken: list[claims.Claim]) -> Iterator[str]:
    taken.sort(key=lambda claim: claim.got_at)
    for before, after in pairwise(taken):
        if after.sent_at > before.got_at and (after.fence or 0) <= (before.fence or 0):
            yield f"{key}: fence {after.fence} of {after.name} after {before.fence}"


def _overtaken(
    run: Run, key: tuple[str, str], rows: list[Row], by_event: dict[str, list[claims.Claim]]
) -> Iterator[str]:
    """What was handed out before the event ahead of it in its key, that was completed, was acked."""
    for earlier, later in pairwise(rows):
        holder = run.claims.get((earlier.event_id, earlier.generation))
        got = min((claim.got_at for claim in by_event[later.event_id]), default=None)
        if earlier.status != "completed" or holder is None or holder.acked_at is None:
            continue
        if got is not None and got < holder.acked_at:
            yield f"{key}: {later.event_id} was handed out before {earlier.event_id} was acked"


def within_attempts(run: Run) -> Iterator[str]:
    """Whoever has no attempt left is in quarantine; nobody is handed what is beyond its limit."""
    for claim in run.claims.values():
        if claim.attempts > claim.max_attempts:
            yield f"{claim.name} was attempt {claim.attempts} of {claim.max_attempts}"
    for row in run.books.rows:
        open_again = row.status == "pending" and row.attempts >= row.max_attempts
        if row.attempts > row.max_attempts or open_again:
            yield f"{row.event_id} is {row.status} after {row.attempts} of {row.max_attempts}"


def no_fault(run: Run) -> Iterator[str]:
    """Whatever fails around it, the server has an answer for it."""
    for call in run.calls:
        if call.status == 500:
            yield f"{call.client} got 500 to {call.verb}: {call.told.get('request_id')}"


def _wanted(call: Call) -> list[tuple[str, str]]:
    return [(item["name"], to) for item in call.asked["items"] for to in item["recipients"]]


RULES: dict[str, Callable[[Run], Iterator[str]]] = {
    "nothing_lost": nothing_lost,
    "nothing_torn": nothing_torn,
    "keys_answered_once": keys_answered_once,
    "dense": dense,
    "commit_order": commit_order,
    "nothing_skipped": nothing_skipped,
    "no_stale_settle": no_stale_settle,
    "one_holder": one_holder,
    "keys_in_order": keys_in_order,
    "within_attempts": within_attempts,
    "no_fault": no_fault,
}
