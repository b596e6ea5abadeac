"""Clients and the command line in a tenant that wants signatures, as `restante tenant create` makes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from restante_agent import AsyncClient, Client, Publication, SigningKey
from restante_agent.wire.call import Call, document
from restante_agent.wire.step import Request
from tests.http.signing import public_jwk
from tests.sdk.real_server import PROJECT, Account, Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("strict"))
    made.tenant = made.command.json("tenant", "create", "strict")["tenant_id"]
    made.command.create_project(made.tenant, PROJECT)
    yield made
    made.served.stop()


def note(account: Account) -> Publication:
    return Publication(
        recipients=[account.client_id], project=PROJECT, payload={"type": "note", "text": "Grüße"}
    )


def keys_of(client: Client) -> list[str]:
    path = f"/api/v1/agents/{client.agent_id}/signing-keys"
    listed = client.perform(Call(Request(method="GET", path=path), document))
    return [key["key_id"] for key in listed["keys"]]


def test_the_client_signs_by_itself(server: Server, tmp_path: Path) -> None:
    agent = server.agent()
    with agent.client(state_dir=tmp_path) as client:
        published = client.publish(note(agent), idempotency_key="once")
        again = client.publish(note(agent), idempotency_key="once")
        assert again.events[0].event_id == published.events[0].event_id
        (event,) = client.claim(limit=5).events
        assert event.raw["producer"]["signed"] is True
        client.renew(event.event_id, event.claim_generation)
        client.ack(event.event_id, event.claim_generation, result={"ok": True})
        assert client.receipts(recipient=agent.client_id).raw
        with client.subscribe() as stream:
            assert next(iter(stream))
        assert len(keys_of(client)) == 1


def test_the_async_client_and_a_second_process_share_the_key(
    server: Server, tmp_path: Path
) -> None:
    agent = server.agent()

    async def calls() -> None:
        async with AsyncClient(
            agent.url, agent.client_id, agent.client_secret, state_dir=tmp_path
        ) as client:
            await client.publish(note(agent))
            async with anyio.create_task_group() as group:
                for _ in range(4):
                    group.start_soon(client.stats)

    anyio.run(calls)
    with agent.client(state_dir=tmp_path) as client:
        assert len(client.claim(limit=5).events) == 1
        assert len(keys_of(client)) == 1


def test_the_commands_sign_and_share_a_key(server: Server, tmp_path: Path) -> None:
    agent = server.agent()
    for _ in range(2):
        sent = agent.run(
            *("publish", "--to", agent.client_id, "--project", PROJECT, "--type", "note"),
            *('{"n": 1}', "--json"),
            state=tmp_path,
        )
        assert sent.returncode == 0, sent.stderr
    for taken in (1, 1, 0, 0, 0):
        done = agent.run("claim", "--json", state=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)["events"]) == taken
    with agent.client(state_dir=tmp_path) as client:
        assert len(keys_of(client)) == 1


def test_a_registered_key_of_the_agents_own(server: Server, tmp_path: Path) -> None:
    agent = server.agent()
    private = ed25519.Ed25519PrivateKey.generate()
    path = f"/api/v1/agents/{agent.client_id}/signing-keys"
    with agent.client(sign=False) as client:
        body = {"public_jwk": public_jwk(private)}
        made = client.perform(Call(Request(method="POST", path=path, body=body), document))
    mine = SigningKey(made["key_id"], private.sign)
    with agent.client(sign=mine, state_dir=tmp_path) as client:
        assert client.publish(note(agent)).events
        assert keys_of(client) == [made["key_id"]]
