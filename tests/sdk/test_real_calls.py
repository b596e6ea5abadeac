"""Every call of the client against a real server: what it sends is taken, what comes is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from restante_agent import (
    Ack,
    Claim,
    CursorGone,
    EventFinal,
    Failure,
    FailureOutcome,
    IdempotencyKeyReused,
    InsufficientScope,
    InvalidClient,
    InvalidScope,
    NotFound,
    Publication,
    Ready,
    RecipientRefused,
    Release,
    Renew,
    Ring,
    Settlement,
    StaleClaim,
    ValidationFailed,
)
from tests.sdk.real_server import PROJECT, Account, Server
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("served"), RESTANTE_HEARTBEAT_SECONDS="5")
    yield made
    made.served.stop()


def to(account: Account, payload: Any = None, **members: Any) -> Publication:
    return Publication(
        recipients=[account.client_id],
        project=PROJECT,
        payload={"type": "note"} if payload is None else payload,
        **members,
    )


def test_publish_read_claim_settle_and_receipts(server: Server) -> None:
    agent = server.agent()
    with agent.client() as client:
        assert client.stats().head == 0
        published = client.publish_many(
            [to(agent, {"type": "note", "n": n, "text": "Grüße"}) for n in range(6)]
        )
        assert [e.sequence_number for e in published.events] == [1, 2, 3, 4, 5, 6]
        page = client.read(0, limit=4)
        assert [e.payload["n"] for e in page.events] == [0, 1, 2, 3]
        assert (page.next_cursor, page.has_more, page.claimable) == (4, True, 6)
        assert page.etag is not None
        assert client.read_if_changed(page.etag, 0, limit=4) is None

        claim = client.claim(limit=5, lease_seconds=60, consumer="by-hand")
        assert [e.sequence_number for e in claim.events] == [1, 2, 3, 4, 5]
        assert claim.claimable == 1
        assert all(0 < e.lease_remaining_ms <= 60_000 for e in claim.events)
        again = client.claim(limit=5, consumer="by-hand", claim_id=claim.claim_id)
        assert [e.event_id for e in again.events] == [e.event_id for e in claim.events]
        assert len(client.claims(consumer="by-hand").events) == 5

        ids = [e.event_id for e in claim.events]
        acked = client.ack(ids[0], 1, result={"pull": 17})
        assert acked.completed_at is not None
        assert client.ack(ids[0], 1).completed_at == acked.completed_at
        failure = Failure("upstream", "it was down", FailureOutcome.NONE)
        released = client.release(ids[1], 1, delay_seconds=600, error=failure)
        assert released.status == "pending"
        assert released.not_before is not None
        assert client.reject(ids[2], 1, reason="never").status == "quarantined"
        renewed = client.renew(ids[3], 1, lease_seconds=120, progress={"step": 1})
        assert 60_000 < renewed.lease_remaining_ms <= 120_000
        results = client.settle(
            [
                Settlement(ids[3], 1, Renew(90)),
                Settlement(ids[4], 1, Ack({"n": 1})),
                Settlement(ids[0], 1, Release()),
            ]
        )
        by_id = {r.event_id: r for r in results}
        assert by_id[ids[3]].raw["lease_remaining_ms"] > 60_000
        assert by_id[ids[4]].status == "completed"
        refused = by_id[ids[0]].error
        assert isinstance(refused, StaleClaim)
        assert (refused.reason, refused.current_generation) == ("completed", 1)

        assert client.release_all(consumer="by-hand").released == 1
        assert client.commit(6).completed == 1  # the sixth; the fourth has been claimed
        detail = client.event(ids[1])
        assert detail.last_error is not None
        assert detail.last_error["code"] == "upstream"
        assert [entry.kind for entry in detail.timeline]
        assert client.receipt(ids[0]).result == {"pull": 17}
        assert len(client.receipts(recipient=agent.client_id, limit=3).events) == 3
        stats = client.stats()
        assert (stats.head, stats.quarantined, stats.pending) == (6, 1, 2)


def test_refusals_are_typed(server: Server) -> None:
    agent = server.agent()
    with agent.client() as client:
        made = client.publish(to(agent), idempotency_key="once")
        assert client.publish(to(agent), idempotency_key="once").replayed
        with pytest.raises(IdempotencyKeyReused):
            client.publish(to(agent, {"type": "other"}), idempotency_key="once")
        with pytest.raises(RecipientRefused):
            client.publish(
                Publication(recipients=[f"agt_{1:032x}"], project=PROJECT, payload={"type": "x"})
            )
        with pytest.raises(ValidationFailed, match="limit"):
            client.claim(limit=5000)
        with pytest.raises(NotFound):
            client.event(f"evt_{1:032x}")
        with pytest.raises(StaleClaim) as stale:
            client.ack(made.events[0].event_id, 1)
        assert (stale.value.reason, stale.value.current_generation) == ("never_claimed", 0)
        with pytest.raises(CursorGone) as gone:
            client.claim(after_cursor=99)
        assert (gone.value.head, gone.value.reason) == (1, "epoch")
        assert gone.value.epoch == client.stats().epoch
        with pytest.raises(CursorGone):
            client.read(0, epoch="of-another-time")
        cancelled = client.cancel(made.events[0].event_id, reason="no need", project=PROJECT)
        assert cancelled.status == "cancelled"
        with pytest.raises(EventFinal):
            client.cancel(made.events[0].event_id, reason="again", project=PROJECT)


def test_scopes_and_secrets(server: Server) -> None:
    reader, agent = server.agent("read"), server.agent()
    with reader.client() as client:
        client.stats()
        with pytest.raises(InsufficientScope):
            client.claim()
        with pytest.raises(InvalidScope):
            client.publish(to(agent))
    with pytest.raises(InvalidClient):
        Account(agent.url, agent.client_id, "wrong").client().stats()
    service = server.service("tenant:events:publish", "tenant:events:read")
    with service.client() as client:
        made = client.publish_to(
            agent.client_id, Publication(project=PROJECT, payload={"type": "by-service"})
        )
        assert client.receipt(made.events[0].event_id).status == "pending"
        assert made.events[0].recipient_id == agent.client_id


def test_a_lease_that_is_over_cannot_settle(server: Server) -> None:
    agent = server.agent()
    with agent.client() as client:
        event_id = (
            client.publish(to(agent, backoff_base_seconds=0, backoff_max_seconds=0))
            .events[0]
            .event_id
        )
        client.claim(lease_seconds=1)
        again = wait_until(lambda: client.claim(limit=1).events, "the lease is over")
        assert again[0].claim_generation == 2
        with pytest.raises(StaleClaim) as stale:
            client.ack(event_id, 1)
        assert (stale.value.reason, stale.value.current_generation) == ("reclaimed", 2)
        assert client.ack(event_id, 2).status == "completed"


def test_a_held_claim_waits_for_an_event(server: Server) -> None:
    agent = server.agent()

    taken: list[Claim] = []
    rings: list[Ring] = []

    async def main() -> None:
        async with agent.async_client() as client, anyio.create_task_group() as group:

            async def take() -> None:
                taken.append(await client.claim(wait_seconds=20))

            async with client.subscribe() as stream:
                async for frame in stream:
                    if isinstance(frame, Ready):
                        assert frame.heartbeat_seconds == 5
                        group.start_soon(take)
                        await client.publish(to(agent))
                    elif isinstance(frame, Ring):
                        rings.append(frame)
                        break

    anyio.run(main)
    assert rings[0].cursor_hint == 1
    assert len(taken[0].events) == 1
