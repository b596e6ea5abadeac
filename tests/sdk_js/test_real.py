"""The JavaScript agent against a real server: in node, and in the pages of another origin in a browser."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.sdk.real_server import PROJECT, Account, Server
from tests.sdk_js.node_tests import PACKAGE, run_cases, with_package
from tests.sdk_js.page_server import PageServer, token_of
from tests.support.chromium import chromium
from tests.support.unavailable import had
from tests.support.waiting import wait_until

VERBS = ("read", "claim", "publish", "memory")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("served"), RESTANTE_HEARTBEAT_SECONDS="1")
    yield made
    made.served.process.kill_group()


@pytest.fixture(scope="module")
def strict(server: Server) -> Server:
    """The same server, a tenant that wants signatures."""
    twin = object.__new__(Server)
    twin.__dict__.update(server.__dict__)
    twin.tenant = server.command.json("tenant", "create", "strict")["tenant_id"]
    server.command.create_project(twin.tenant, PROJECT)
    twin._made = 0
    return twin


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    context = chromium()
    yield had(context.__enter__)
    context.__exit__(None, None, None)


def credentials(account: Account) -> dict[str, str]:
    return {"client_id": account.client_id, "client_secret": account.client_secret}


def test_all_cases_hold_in_node(server: Server, strict: Server, tmp_path: Path) -> None:
    places = {
        "url": server.served.url,
        "project": PROJECT,
        "plain": credentials(server.agent(*VERBS)),
        "backlog": credentials(server.agent(*VERBS)),
        "strict": credentials(strict.agent(*VERBS)),
        "p256": credentials(strict.agent(*VERBS)),
    }
    run_cases(with_package(tmp_path / "node"), "real.mjs", env={"PLACES": json.dumps(places)})


PAGE = """
async ({url, agentId}) => {
  const sdk = globalThis.sdk = await import("/sdk/index.js");
  const token = async (want) => (await fetch("/token", {method: "POST", body: JSON.stringify(want)})).json();
  const client = globalThis.client = new sdk.Client({url, agentId, token});
  const seen = globalThis.seen = [], said = globalThis.said = [];
  const log = {info() {}, warn: (text) => said.push(text), error: (text) => said.push(text)};
  const agent = globalThis.agent = new sdk.Agent(client, ({event, generation}) => {
    seen.push([event.payload.n, generation, event.producer.signed]);
    return {heard: event.payload.n};
  }, {log});
  globalThis.running = agent.run().catch((error) => said.push(`ended: ${error}`));
}
"""


def allow(strict: Server, origin: str) -> None:
    """Let pages of the origin call the tenant's API."""
    admin = strict.service("tenant:agents:write")
    token = json.loads(token_of(admin, None))["access_token"]
    request = urllib.request.Request(
        f"{admin.url}/api/v1/admin/tenant",
        data=json.dumps({"allowed_origins": [origin]}).encode(),
        method="PATCH",
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert answer.status == 200


def opened(context: BrowserContext, origin: str, account: Account) -> Page:
    """A page with an agent in it that runs."""
    page = context.new_page()
    page.goto(f"{origin}/")
    page.evaluate(PAGE, {"url": account.url, "agentId": account.client_id})
    return page


def publish(page: Page, n: int) -> str:
    text = """async ([project, n]) => (await client.publish(
        {recipients: [client.agentId], project, payload: {type: "n", n}})).events[0].event_id"""
    event_id: str = page.evaluate(text, [PROJECT, n])
    return event_id


def seen(*pages: Page) -> list[Any]:
    return sorted(one for page in pages for one in page.evaluate("seen"))


def streams(page: Page) -> int:
    count: int = page.evaluate("client.stats().then(({streams}) => streams)")
    return count


LOOK = """async (eventId) => {
  const state = await client.core.state();
  const {key, algorithm} = await state.key();
  const told = await crypto.subtle.exportKey("jwk", key).then(() => "told", (error) => error.name);
  return [algorithm, told, (await state.find(eventId)).result];
}"""


def test_pages_of_another_origin_share_a_stream_a_key_and_a_record(
    strict: Server, browser: Browser
) -> None:
    account = strict.agent(*VERBS)
    site = PageServer(PACKAGE, account)
    allow(strict, site.origin)
    context = browser.new_context()
    first, second = (opened(context, site.origin, account) for _ in range(2))
    wait_until(lambda: streams(second) == 1, "one of them listens")
    event_id = publish(second, 1)
    wait_until(lambda: seen(first, second) == [[1, 1, True]], "it is worked once")
    wait_until(
        lambda: second.evaluate("id => client.receipt(id)", event_id)["result"] == {"heard": 1},
        "its result is there",
    )
    algorithm, told, result = second.evaluate(LOOK, event_id)
    assert algorithm in ("ed25519", "ecdsa-p256-sha256")
    assert told == "InvalidAccessError"  # not even this page can read the key out
    assert result == {"heard": 1}
    assert streams(second) == 1
    first.close()
    publish(second, 2)
    wait_until(lambda: [2, 1, True] in seen(second), "the other page goes on")
    wait_until(lambda: streams(second) == 1, "it listens now")
    assert second.evaluate("said") == []
    summary = second.evaluate("agent.stop(), running")
    assert summary["acked"] == summary["claimed"] >= 1
    path = f"{account.url}/api/v1/agents/{account.client_id}/signing-keys"
    token = json.loads(token_of(account, None))["access_token"]
    request = urllib.request.Request(path, headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        assert len(json.load(answer)["keys"]) == 1
    context.close()
    site.close()
