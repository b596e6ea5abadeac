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


def batch(
    name: str, numbers: range, recipients: list[str], *, draw: random.Random
) -> list[Publication]:
    """Publications whose `number` grows; most have one of this publisher's ordering keys."""
    made = []
    for number in numbers:
        key = draw.randrange(KEYS * 2)
        made.append(
            Publication(
                payload={
                    "publisher": name,
                    "number": number,
                    "text": "für später " * draw.randrange(20),
                },
                project=PROJECT,
                type="fire.test",
                recipients=[draw.choice(recipients)],
                priority=draw.choice((0, 0, 0, 10)),
                ordering_key=f"{name}/{key}" if key < KEYS else None,
                idempotency_key=f"{name}-{number}" if number % 3 == 0 else None,
                max_attempts=100,
                backoff_base_seconds=0.0,
                backoff_max_seconds=0.0,
            )
        )
    return made


def main() -> None:
    log, name, seed, events, *recipients = sys.argv[1:]
    write, draw = line_writer(log), random.Random(seed)
    client = Client.from_environment(retry=PATIENT)
    done = 0
    for call in count():
        numbers = range(done, min(int(events), done + draw.choice((1, 5, 20))))
        if not numbers:
            return
        publications = batch(name, numbers, recipients, draw=draw)
        published = client.publish_many(publications, idempotency_key=f"{name}-call-{call}")
        for number, publication, event in zip(numbers, publications, published.events, strict=True):
            write(
                "published",
                event=event.event_id,
                recipient=event.recipient_id,
                sequence=event.sequence_number,
                number=number,
                key=publication.ordering_key,
                existing=event.existing,
            )
        done = numbers.stop


if __name__ == "__main__":
    main()
