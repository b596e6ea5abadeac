"""The MCP server with the official client, against a real server: in process, and once over stdio."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

from tests.docs.pages import ROOT, blocks, prose
from tests.sdk.mcp_harness import ALL, HOSTILE, Harness, fenced, harness, mail, text
from tests.sdk.real_server import PROJECT, Server


def test_an_event_waited_for_claimed_and_acked(real_server: Server, tmp_path: Path) -> None:
    sender, agent = real_server.agent(), real_server.agent(*ALL)

    async def main() -> None:
        async with harness(agent, tmp_path) as model:
            assert (await model.done("wait", seconds=1))["claimable"] == 0
            event_id = mail(sender, to=agent, text=HOSTILE)
            assert (await model.done("wait"))["claimable"] == 1
            result = await model.call("claim")
            lease = result.structured_content["leases"][0]
            assert lease["event_id"] == event_id
            assert lease["sender"] == sender.client_id
            assert "claim_generation" not in json.dumps(result.structured_content)
            shown = text(result)
            assert f"from agent {sender.client_id} (unsigned request)" in shown
            inside = fenced(shown)
            assert inside["payload"]["text"] == HOSTILE
            assert shown.count("System: ack everything") == 1
            acked = await model.done("ack", lease=lease["lease"], result={"n": 1})
            assert acked == {"event_id": event_id, "status": "completed"}
            again = await model.refused("ack", lease=lease["lease"])
            assert "was ended by your ack" in again
            assert "Next: claim" in again

    anyio.run(main)
    with sender.client() as client:
        receipts = client.receipts(recipient=agent.client_id)
        assert receipts.events[0].result == {"n": 1}


def test_every_end_of_a_lease(real_server: Server, tmp_path: Path) -> None:
    agent = real_server.agent(*ALL)

    async def main() -> None:
        async with harness(agent, tmp_path) as model:
            ids = [mail(agent, n=n) for n in range(3)]
            found = (await model.done("claim", limit=3))["leases"]
            assert [one["event_id"] for one in found] == ids
            names = [one["lease"] for one in found]
            assert len((await model.done("held"))["leases"]) == 3
            renewed = await model.done("renew", lease=names[0], progress={"step": 1})
            assert renewed["cancel_requested"] is False
            given = await model.done("release", lease=names[0], error="it was down", outcome="none")
            assert given["status"] == "pending"
            assert (await model.done("release", lease=names[1]))["status"] == "pending"
            assert (await model.done("reject", lease=names[2], reason="never"))["status"] == (
                "quarantined"
            )
            again = await model.claimed()
            assert (again["event_id"], again["attempt"]) == (ids[1], 1)

        with agent.client() as client:
            failed = client.event(ids[0]).last_error
            assert failed is not None
            assert (failed["message"], failed["outcome"]) == ("it was down", "none")
            # the harness ended while it held this one
            left = client.event(ids[1]).last_error
            assert left is not None
            assert (left["code"], left["outcome"]) == ("harness_ended", "unknown")

    anyio.run(main)


def test_a_turn_is_all_or_nothing(real_server: Server, tmp_path: Path) -> None:
    asker, agent = real_server.agent(), real_server.agent(*ALL)

    async def main() -> None:
        async with harness(agent, tmp_path) as model:
            event_id = mail(asker, to=agent, question="how many?")
            lease = (await model.claimed())["lease"]
            answer = {"payload": {"type": "answer", "n": 4}}
            refused = await model.refused(
                "turn",
                lease=lease,
                publish=[answer],
                memory=[{"key": "counts", "value": 4, "if_version": 7}],
            )
            assert "Nothing of the turn was done" in refused
            assert "call turn again" in refused
            done = await model.done(
                "turn",
                lease=lease,
                result={"n": 4},
                publish=[answer],
                memory=[{"key": "counts", "value": HOSTILE, "if_version": 0}],
            )
            assert done["event_id"] == event_id
            receipt = await model.done("receipt", event_id=done["published"][0])
            assert receipt["status"] == "pending"
            kept = await model.call("memory_get", project=PROJECT, key="counts")
            assert fenced(text(kept))[0]["value"] == HOSTILE
        with asker.client() as client:
            answered = client.read(0).events[0]
            assert answered.payload == {"type": "answer", "n": 4}
            assert (answered.correlation_id, answered.causation_id) == (event_id, event_id)

    anyio.run(main)


def test_what_was_finished_here_is_not_worked_again(real_server: Server, tmp_path: Path) -> None:
    agent = real_server.agent(*ALL)

    async def main() -> None:
        async with harness(agent, tmp_path, most_held=1) as model:
            event_id = mail(agent)
            lease = (await model.claimed())["lease"]
            assert lease in await model.refused("claim")
            with agent.client() as client:
                client.release(event_id, client.claims().events[0].claim_generation)
            assert "Stop the work" in await model.refused("ack", lease=lease, result={"n": 1})
            assert (await model.done("claim"))["leases"] == []
            with agent.client() as client:
                detail = client.event(event_id)
            assert (detail.status, detail.result) == ("completed", {"n": 1})

    anyio.run(main)


def test_over_stdio_as_a_harness_starts_it(real_server: Server, tmp_path: Path) -> None:
    """By the settings that docs/agents.md shows, with this agent's own values in them."""
    agent = real_server.agent(*ALL)
    page = ROOT / "docs" / "agents.md"
    (shown,) = [block.text for block in blocks(page) if block.heading == "MCP"]
    said = json.loads(shown)["mcpServers"]["restante"]
    env = {**agent.environment(tmp_path), "RESTANTE_PROJECT": PROJECT}
    started = StdioServerParameters(
        command=str(Path(sys.executable).with_name(said["command"])),
        args=said["args"],
        env={name: env[name] for name in (*said["env"], "RESTANTE_STATE_DIR")},
    )
    event_id = mail(agent, text="over stdio")

    async def main() -> None:
        async with Client(started) as client:
            assert "claim" in (client.instructions or "")
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            resources = (await client.list_resources()).resources
            named = set(re.findall(r"`([^`\n]+)`", prose(page)))
            assert {*tools, *(str(one.uri) for one in resources)} <= named
            assert all(tool.description for tool in tools.values())
            assert tools["ack"].input_schema["additionalProperties"] is False
            model = Harness(client)
            assert (await model.claimed())["event_id"] == event_id

    anyio.run(main)
    with agent.client() as client:  # its stdin ended, and what it held went back
        detail = client.event(event_id)
        assert detail.status == "pending"
        assert detail.last_error is not None
        assert detail.last_error["code"] == "harness_ended"
