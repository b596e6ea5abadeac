"""The MCP server where something goes wrong: what a model is told, and what cannot happen."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2

from restante_agent import NO_RETRY, AsyncClient
from restante_agent.mcp.server import PENDING
from tests.sdk.mcp_harness import ALL, HOSTILE, fenced, harness, mail, text
from tests.sdk.real_server import PROJECT, Server
from tests.support.waiting import wait_until


def test_a_name_is_good_for_one_claim_only(real_server: Server, tmp_path: Path) -> None:
    agent = real_server.agent(*ALL)

    async def main() -> None:
        async with harness(agent, tmp_path) as model:
            event_id = mail(agent)
            first = await model.claimed()
            with agent.client() as operator:
                held = operator.claims().events[0]
                operator.release(event_id, held.claim_generation)
            told = await model.refused("renew", lease=first["lease"])
            assert "Stop the work" in told
            second = await model.claimed()
            assert second["event_id"] == event_id
            late = await model.refused("ack", lease=first["lease"])
            assert "is over (lease_lost)" in late
            assert f"lease={second['lease']}" in await model.refused("ack", lease=event_id)
            assert second["lease"] in await model.refused("renew", lease="lease_of_another_time")
            with agent.client() as client:
                assert client.event(event_id).status == "claimed"

    anyio.run(main)


def test_leases_are_renewed_while_the_harness_works_and_go_back_when_it_is_silent(
    real_server: Server, tmp_path: Path
) -> None:
    agent = real_server.agent(*ALL)

    async def main() -> None:
        async with harness(agent, tmp_path, lease_seconds=1, idle_seconds=3.0) as model:
            mail(agent)
            lease = await model.claimed()
            with agent.client() as client:
                until = client.claims().events[0].claim_expires_at

                def renewed() -> bool:
                    return any(e.claim_expires_at != until for e in client.claims().events)

                await anyio.to_thread.run_sync(wait_until, renewed, "a renewal")
                assert client.claims().events[0].claim_generation == 1
                await anyio.to_thread.run_sync(
                    wait_until, lambda: not client.claims().events, "the event given back"
                )
                error = client.event(lease["event_id"]).last_error
            assert error is not None
            assert error["code"] == "harness_silent"
            assert "was given back" in await model.refused("ack", lease=lease["lease"])

    anyio.run(main)


def test_memory_and_messages_say_what_to_do_next(real_server: Server, tmp_path: Path) -> None:
    agent, other = real_server.agent(*ALL), real_server.agent()

    async def main() -> None:
        async with harness(agent, tmp_path) as model:
            put = await model.done("memory_put", project=PROJECT, key="k", value={"a": 1})
            told = await model.refused(
                "memory_put", project=PROJECT, key="k", value=2, if_version=put["version"] + 1
            )
            assert "Next: memory_get" in told
            # a condition that is misspelt is no condition that is lost
            assert "if_versoin" in await model.refused(
                "memory_put", project=PROJECT, key="k", value=2, if_versoin=9
            )
            listed = await model.call("memory_list")
            assert fenced(text(listed))[0]["value"] == {"a": 1}
            await model.done("memory_delete", project=PROJECT, key="k")
            assert "check the name" in await model.refused("memory_get", project=PROJECT, key="k")
            payload = {"type": "hello"}
            assert "with recipients" in await model.refused(
                "publish", payload=payload, project=PROJECT
            )
            assert "Recipients are ids" in await model.refused(
                "publish", payload=payload, project=PROJECT, recipients=[f"agt_{1:032x}"]
            )
            sent = await model.done(
                "publish", payload=payload, project=PROJECT, recipients=[other.client_id]
            )
            assert sent["events"][0]["recipient_id"] == other.client_id

    anyio.run(main)


def test_what_is_not_granted_is_said_so(real_server: Server, tmp_path: Path) -> None:
    reader = real_server.agent("read")
    mail_to = real_server.agent()
    mail(mail_to, to=reader, text=HOSTILE)

    async def main() -> None:
        async with harness(reader, tmp_path) as model:
            told = await model.refused("claim")
            assert "only an operator can grant" in told
            found = await model.client.read_resource(PENDING)
            shown = found.contents[0].text
            assert fenced(shown)["payload"]["text"] == HOSTILE
            assert "None is yours before `claim`" in shown
            assert "only an operator can grant" in await model.refused(
                "publish",
                payload={"type": "x"},
                project=PROJECT,
                recipients=[mail_to.client_id],
            )

    anyio.run(main)


class LosesAnswers(httpx2.AsyncHTTPTransport):
    """Whose first answer to each path is lost on the way back."""

    def __init__(self, *paths: str) -> None:
        super().__init__()
        self._left = list(paths)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        for path in self._left:
            if request.method == "POST" and request.url.path.endswith(path):
                self._left.remove(path)
                await response.aread()
                raise httpx2.ReadError("the connection broke")
        return response


def test_the_same_call_again_is_done_once(real_server: Server, tmp_path: Path) -> None:
    agent = real_server.agent(*ALL)
    mail(agent)

    async def main() -> None:
        transport = LosesAnswers("/events", "/claim", "/turn")
        client = AsyncClient(
            agent.url, agent.client_id, agent.client_secret, transport=transport, retry=NO_RETRY
        )
        async with harness(agent, tmp_path, client=client) as model:
            message = {"payload": {"type": "hello"}, "recipients": [agent.client_id]}
            sent = []
            for call in (
                ("claim", {}),
                ("publish", {**message, "project": PROJECT}),
            ):
                told = await model.refused(call[0], **call[1])
                assert "the same call, unchanged" in told
                sent.append(await model.done(call[0], **call[1]))
            lease = sent[0]["leases"][0]["lease"]
            turn = {"lease": lease, "result": {"n": 1}, "publish": [message]}
            assert "the same call, unchanged" in await model.refused("turn", **turn)
            await model.done("turn", **turn)

    anyio.run(main)
    with agent.client() as client:
        assert [e.status for e in client.read(0).events] == ["completed", "pending", "pending"]
