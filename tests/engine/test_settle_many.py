from __future__ import annotations

from restante.errors import NotFound, StaleClaim
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack, Reject, Release, Renew
from restante.storage.ids import new_id
from tests.engine.snapshot import only_changing
from tests.factories import Mailbox


def test_each_order_stands_or_falls_alone(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    mail.publish_many(mail.publication() for _ in range(7))
    a, b, c, d, e, f, g = mail.take("p")
    unknown = new_id()
    with only_changing(mail.database, a.id, b.id, c.id, d.id, e.id):
        told = mail.settle(
            Ack(f.id, 9),
            Renew(e.id, 1, 500),
            Ack(a.id, 1, b'{"r":1}'),
            Release(c.id, 1),
            Ack(unknown, 1),
            Reject(d.id, 1, "never"),
            Ack(gallery["claimed"], 2),
            Release(b.id, 1, 0, Failure("x", "y")),
            Ack(gallery["completed"], 1),
        )
    assert isinstance(told[0], StaleClaim)
    assert isinstance(told[4], NotFound)
    assert isinstance(told[6], StaleClaim)
    statuses = [o["status"] for o in told if isinstance(o, dict)]
    assert statuses == ["claimed", "completed", "pending", "quarantined", "pending", "completed"]
    gates = [mail.gate(x.id) for x in (a, b, c, d, e, f, g)]
    assert gates == [
        Gate.COMPLETED,
        Gate.CLAIMABLE,
        Gate.CLAIMABLE,
        Gate.QUARANTINED,
        Gate.CLAIMED,
        Gate.CLAIMED,
        Gate.CLAIMED,
    ]


def test_a_thousand_at_once(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(1000))
    taken = mail.take(limit=1000)
    assert len(taken) == 1000
    told = mail.settle(
        *(Ack(e.id, e.generation, b"{}" if i % 2 else None) for i, e in enumerate(taken))
    )
    assert {o["status"] for o in told} == {"completed"}
    assert len({o["completed_at"] for o in told}) == 1


def test_keys_go_on_when_their_heads_are_settled_together(mail: Mailbox) -> None:
    """Two keys with two events each: the heads are acked in one call, the others become heads."""
    for key in "kl":
        mail.publish_many(mail.publication(ordering_key=key) for _ in range(2))
    heads = mail.take()
    assert [e.told["ordering_key"] for e in heads] == ["k", "l"]
    mail.settle(*(Ack(e.id, e.generation) for e in reversed(heads)))
    assert [e.told["ordering_sequence"] for e in mail.take()] == [2, 2]
