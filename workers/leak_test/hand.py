"""A process that publishes or consumes and may be killed at any time: `python -m workers.leak_test.hand`.

What it is to do comes as JSON on stdin (a database URL holds a password). Before a call it writes down
nothing, after an answer one line: what stands there was acknowledged.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from restante.errors import OutcomeUnknown, Overloaded, StaleClaim
from restante.identity.principal import Principal, PrincipalKind, Project
from restante.inbox.orders import Ack, Release
from restante.inbox.publication import Publication
from restante.inbox.publish import publish
from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from workers.leak_test.deletions import Deletions
from workers.leak_test.ground import AGENT, PROJECT, SERVICE, Box
from workers.leak_test.mail import FAILED

BUSY_SECONDS = 5
LEASE_SECONDS = 1
POISON_ATTEMPTS = 2
EVERY_POISON = 20
KEYS = 3


class Journal:
    """Lines that outlive a SIGKILL: each is one write."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, **members: Any) -> None:
        """One line."""
        os.write(self._file, json.dumps(members).encode() + b"\n")


def lines(file: Path) -> list[dict[str, Any]]:
    """What was written, but for a line that was not finished."""
    text = file.read_text() if file.exists() else ""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def main() -> None:
    """Do it until it is done, or for ever."""
    told = json.load(sys.stdin)
    engine = make_engine(told["url"], busy_seconds=BUSY_SECONDS)
    deletions = Deletions(engine)
    journal = Journal(Path(told["journal"]))
    project = Project(bytes.fromhex(told["project_id"]), PROJECT)
    tenant_id = bytes.fromhex(told["tenant_id"])
    ids, projects = [bytes.fromhex(i) for i in told["agent_ids"]], {PROJECT: project}
    service_id = bytes.fromhex(told["service_id"])
    service = Principal(
        tenant_id, PrincipalKind.SERVICE, service_id, "publisher", SERVICE, projects
    )
    agent = Principal(tenant_id, PrincipalKind.AGENT, ids[0], "agent", AGENT, projects)
    chance = random.Random(told["seed"])  # noqa: S311 - what is tried, not a secret
    box = Box(Database(engine), service, agent)
    if told["role"] == "publish":
        _publish(box, journal, told, ids)
    else:
        _consume(box, journal, chance)
    for statement in deletions.wrong:
        journal.write(deleted=statement)


def publication_of(name: str, number: int, recipients: list[bytes]) -> Publication:
    """The same one at every repeat."""
    poison = number % EVERY_POISON == EVERY_POISON - 1
    key = None if poison or number % 2 else f"{name}-{number // 2 % KEYS}"
    return Publication(
        recipients=tuple(recipients),
        project=PROJECT,
        type="t",
        payload=json.dumps({"by": name, "number": number, "poison": poison}).encode(),
        ordering_key=key,
        idempotency_key=f"{name}-{number}",
        max_attempts=POISON_ATTEMPTS if poison else 100,
        backoff=(0.0, 0.0),
    )


def _publish(box: Box, journal: Journal, told: dict[str, Any], ids: list[bytes]) -> None:
    number = len(lines(Path(told["journal"])))  # what was acknowledged is not repeated
    while number < told["count"]:
        publication = publication_of(told["name"], number, ids)
        try:
            made = box.run(lambda s, p=publication: publish(s, box.service, [p]))  # type: ignore[misc]  # mypy infers no lambda with a default
        except (Overloaded, OutcomeUnknown):
            continue  # with the same key
        acknowledged = [[p.event_id.hex(), p.sequence_number] for p in made]
        journal.write(number=number, made=acknowledged, existing=made[0].existing)
        number += 1


def _consume(box: Box, journal: Journal, chance: random.Random) -> None:
    while True:
        try:
            for event in box.claim(limit=chance.randint(1, 6), lease_seconds=LEASE_SECONDS):
                _work(box, journal, chance, event)
        except (Overloaded, OutcomeUnknown):
            continue


def _work(box: Box, journal: Journal, chance: random.Random, event: Any) -> None:
    order: Ack | Release = Ack(event.id, event.generation)
    if event.told["payload"]["poison"] or chance.random() < 0.03:
        order = Release(event.id, event.generation, 0.0, FAILED)
    elif chance.random() < 0.03:
        order = Release(event.id, event.generation)
    try:
        box.order(order)
    except StaleClaim:
        return
    if isinstance(order, Ack):
        journal.write(event_id=event.id.hex(), generation=event.generation)


if __name__ == "__main__":
    main()
