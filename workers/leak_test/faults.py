"""Publishers and consumers that are killed at work, and what must be there afterwards."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from restante.inbox.lifecycle import Gate
from restante.storage.ids import Prefix, decode_id
from workers.leak_test.check import Leak, expect
from workers.leak_test.ground import Box, Ground
from workers.leak_test.hand import EVERY_POISON, POISON_ATTEMPTS, lines

PUBLISHERS = 2
LONGEST_SECONDS = 180
PAUSE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Plan:
    """How much: publications of each publisher (two recipients each), and processes killed."""

    publications: int = 80
    kills: int = 10


@dataclass
class Run:
    """One run: its processes by name, their journals, and what a reader has seen."""

    ground: Ground
    url: str
    plan: Plan
    folder: Path
    boxes: list[Box]
    hands: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    seen: list[bytes] = field(default_factory=list)
    cursor: int = 0
    kills: int = 0

    def start(self, name: str) -> None:
        """Start a process, anew where it was killed; what it is to do is told by its name."""
        role, _, number = name.partition("-")
        boxes = self.boxes if role == "publish" else [self.boxes[int(number) % 2]]
        told = {
            "url": self.url,
            "role": role,
            "name": name,
            "seed": self.ground.chance.getrandbits(32),
            "count": self.plan.publications,
            "journal": str(self.journal(name)),
            "tenant_id": self.ground.tenant_id.hex(),
            "project_id": self.ground.service.projects["p"].id.hex(),
            "service_id": self.ground.service.id.hex(),
            "agent_ids": [box.agent.id.hex() for box in boxes],
        }
        program = [sys.executable, "-m", "workers.leak_test.hand"]
        hand = subprocess.Popen(  # noqa: S603 - our own program
            program, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=sys.stderr
        )
        self.hands[name] = hand
        if hand.stdin is not None:
            hand.stdin.write(json.dumps(told).encode())
            hand.stdin.close()

    def journal(self, name: str) -> Path:
        """What it has been answered."""
        return self.folder / f"{name}.jsonl"

    def acknowledged(self) -> int:
        """Publications that were."""
        return sum(len(lines(self.journal(name))) for name in self.names("publish"))

    def names(self, role: str) -> list[str]:
        """Its processes of a role."""
        return [name for name in self.hands if name.startswith(role)]

    def kill(self, name: str) -> None:
        """SIGKILL, by the pid that was started."""
        self.hands[name].kill()
        self.hands[name].wait()

    def read_on(self) -> None:
        """A reader of the first inbox, while others write."""
        has_more = True
        while has_more:
            page = self.boxes[0].page(self.cursor, 50)
            names = [json.loads(text)["event_id"] for text in page.events]
            self.seen += [decode_id(Prefix.EVENT, name) or b"" for name in names]
            self.cursor, has_more = page.next_cursor, page.has_more


def no_loss(ground: Ground, url: str, plan: Plan, counts: dict[str, int]) -> str:
    """Nothing acknowledged is lost, nothing is there twice, and order is kept, whoever is killed."""
    with tempfile.TemporaryDirectory(prefix="restante-leak-test-") as folder:
        run = Run(ground, url, plan, Path(folder), [ground.box(), ground.box()])
        try:
            _drive(run)
        finally:
            for name in run.hands:
                run.kill(name)
        counts |= {
            "publications": run.acknowledged(),
            "kills": run.kills,
            "events": sum(len(box.rows()) for box in run.boxes),
        }
        _judge(run)
    return f"{counts['events']} events of {counts['publications']} publications, {run.kills} processes killed"


def _drive(run: Run) -> None:
    chance: random.Random = run.ground.chance
    total = PUBLISHERS * run.plan.publications
    for number in range(PUBLISHERS):
        run.start(f"publish-{number}")
        run.start(f"consume-{number}")
    end = time.monotonic() + LONGEST_SECONDS
    at = sorted(chance.randint(1, max(1, total - 1)) for _ in range(run.plan.kills))
    while at or not _is_drained(run, total):
        expect(
            time.monotonic() < end,
            f"after {LONGEST_SECONDS} s {run.acknowledged()} of {total} publications are acknowledged, "
            f"and not all events are settled: {dict(_gates(run))}",
        )
        run.read_on()
        if at and run.acknowledged() >= at[0]:
            at.pop(0)
            name = chance.choice(sorted(run.hands))
            run.kill(name)
            run.kills += 1
            run.start(name)
        for name, hand in list(run.hands.items()):
            code = hand.poll()
            expect(code in (None, 0), f"{name} ended with {code}")
        time.sleep(PAUSE_SECONDS)
    run.read_on()


def _is_drained(run: Run, total: int) -> bool:
    if run.acknowledged() < total:
        return False
    gates = _gates(run)
    return gates[Gate.COMPLETED] + gates[Gate.QUARANTINED] == gates.total() > 0


def _gates(run: Run) -> Counter[Gate]:
    return Counter(Gate(row.gate) for box in run.boxes for row in box.rows())


def _judge(run: Run) -> None:
    for place, box in enumerate(run.boxes):
        rows = box.rows()
        numbers = [row.sequence_number for row in rows]
        expect(numbers == list(range(1, len(rows) + 1)), f"numbers of an inbox are {numbers}")
        by_id = {row.event_id: row for row in rows}
        made = 0
        for name in run.names("publish"):
            for line in lines(run.journal(name)):
                expect("deleted" not in line, f"deleted from quarantine: {line.get('deleted')}")
                event_id, number = line["made"][place]
                row = by_id.get(bytes.fromhex(event_id))
                if row is None:
                    raise Leak(f"an acknowledged event of {name} is lost: {event_id}")
                expect(number in (None, row.sequence_number), f"{event_id} has another number")
                _judge_end(row, poison=line["number"] % EVERY_POISON == EVERY_POISON - 1)
                made += 1
        expect(made == len(rows), f"{made} events acknowledged, {len(rows)} there: some came twice")
        _judge_acks(run, by_id)
        _judge_keys(rows)
    there = [row.event_id for row in run.boxes[0].rows()]
    expect(run.seen == there, "a reader by cursor saw another log than there is")


def _judge_end(row: Any, *, poison: bool) -> None:
    gate = Gate.QUARANTINED if poison else Gate.COMPLETED
    expect(row.gate == gate, f"an event is {Gate(row.gate).name.lower()}, not {gate.name.lower()}")
    expect(
        not poison or row.attempts == POISON_ATTEMPTS,
        f"in quarantine after {row.attempts} attempts of {POISON_ATTEMPTS}",
    )


def _judge_acks(run: Run, by_id: dict[bytes, Any]) -> None:
    """Each event was completed once, by the claim that its row names."""
    done = Counter[bytes]()
    for name in run.names("consume"):
        for line in lines(run.journal(name)):
            row = by_id.get(bytes.fromhex(line["event_id"]))
            if row is not None:
                done[row.event_id] += 1
                expect(
                    line["generation"] == row.claim_generation, "a stale claim completed an event"
                )
    expect(all(times == 1 for times in done.values()), "an event was completed twice")


def _judge_keys(rows: list[Any]) -> None:
    """Events of a key came to their end in its order."""
    keys: defaultdict[bytes, list[Any]] = defaultdict(list)
    for row in rows:
        if row.key_hash is not None:
            keys[row.key_hash].append(row)
    for of_key in keys.values():
        numbers = [row.ordering_sequence for row in of_key]
        expect(numbers == list(range(1, len(of_key) + 1)), f"a key's numbers are {numbers}")
        ends = [row.final_at for row in of_key]
        expect(ends == sorted(ends), "events of a key were completed out of order")
