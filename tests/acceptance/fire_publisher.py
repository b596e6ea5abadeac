"""One publisher under fire: its share of the events, each call repeated with its key until 201.

`python -m tests.acceptance.fire_publisher LOG NAME SEED EVENTS RECIPIENT…`, with a service's
RESTANTE_* in the environment. A line of the log is an event that was acknowledged.
"""

from __future__ import annotations

import random
import sys
from itertools import count

from restante_agent.client import Client
from restante_agent.model.publish import Publication
from tests.acceptance.fire_consumer import PATIENT, line_writer

PROJECT = "fire"
KEYS = 6


def publication(
    name: str, number: int, recipients: list[str], *, draw: random.Random
) -> Publication:
    """Some for two recipients, some for later, most with one of this publisher's ordering keys."""
    key = draw.randrange(KEYS * 2)
    delayed = key >= KEYS and draw.random() < 0.1
    return Publication(
        payload={"publisher": name, "number": number, "text": "für später " * draw.randrange(20)},
        project=PROJECT,
        type="fire.test",
        recipients=recipients,
        priority=draw.choice((0, 0, 0, 10)),
        ordering_key=f"{name}/{key}" if key < KEYS else None,
        delay_seconds=draw.random() if delayed else None,
        idempotency_key=f"{name}-{number}" if number % 3 == 0 else None,
        max_attempts=100,
        backoff_base_seconds=0.0,
        backoff_max_seconds=0.0,
    )


def batch(
    name: str, first: int, room: int, agents: list[str], *, draw: random.Random
) -> list[Publication]:
    """Publications numbered from `first`, that make at most `room` events."""
    made: list[Publication] = []
    for number in range(first, first + draw.choice((1, 5, 20))):
        recipients = draw.sample(agents, min(draw.choice((1, 1, 1, 2)), room))
        if not recipients:
            break
        made.append(publication(name, number, recipients, draw=draw))
        room -= len(recipients)
    return made


def main() -> None:
    log, name, seed, events, *agents = sys.argv[1:]
    write, draw = line_writer(log), random.Random(seed)
    client = Client.from_environment(retry=PATIENT)
    room, number = int(events), 0
    for call in count():
        publications = batch(name, number, room, agents, draw=draw)
        if not publications:
            return
        published = client.publish_many(publications, idempotency_key=f"{name}-call-{call}")
        made = iter(published.events)
        for one in publications:
            for recipient in one.recipients:
                event = next(made)
                assert event.recipient_id == recipient
                write(
                    "published",
                    event=event.event_id,
                    sequence=event.sequence_number,
                    number=one.payload["number"],
                )
        number += len(publications)
        room -= len(published.events)


if __name__ == "__main__":
    main()
