"""Pages of other origins in a real browser, and tickets over the workers of a real server."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.acceptance.conftest import SetUp
from tests.acceptance.stage import Stage, call
from tests.support.browsing import Page, browse
from tests.support.processes import Process
from tests.support.waiting import wait_until

SCRIPT = """
const at = %(address)s, headers = {"Authorization": "Bearer " + %(token)s};
let ticket = %(ticket)s;
(async () => {
  await attempt("stats", async () => {
    const answer = await fetch(at + "/inbox/stats", {headers});
    return [answer.status, (await answer.json()).pending, answer.headers.get("X-Request-Id") !== null];
  });
  await attempt("over", async () => {
    const answer = await fetch(at + "/inbox/stats", {headers: {"Authorization": "Bearer over"}});
    return [answer.status, answer.headers.get("WWW-Authenticate")];
  });
  await attempt("claim", async () => {
    const sent = {...headers, "Content-Type": "application/json", "Idempotency-Key": "k"};
    const answer = await fetch(at + "/inbox/claim", {method: "POST", headers: sent, body: "{}"});
    return answer.status;
  });
  await attempt("ticket", async () => {
    const answer = await fetch(at + "/subscribe-tickets", {method: "POST", headers});
    ticket = (await answer.json()).ticket;
    return answer.status;
  });
  const stream = new EventSource(at + "/subscribe?ticket=" + ticket);
  for (const name of ["ready", "inbox_updated", "revoked"])
    stream.addEventListener(name, event => tell(name, JSON.parse(event.data)));
  stream.onerror = () => tell(stream.readyState === EventSource.CLOSED ? "closed" : "broken", null);
})();
"""


@pytest.fixture
def show(tmp_path: Path) -> Iterator[Callable[[Page], None]]:
    """Shows a page in a browser until the test ends."""
    shown: list[tuple[Page, Process]] = []

    def one(page: Page) -> None:
        shown.append((page, browse(page, tmp_path / f"browser-{len(shown)}")))

    yield one
    for page, browser in shown:
        browser.kill_group()
        page.close()


def page_of(here: Stage, ticket: str = "") -> Page:
    return Page(
        SCRIPT
        % {
            "address": json.dumps(here.address("subscribe").removesuffix("/subscribe")),
            "token": json.dumps(here.token(here.agent)),
            "ticket": json.dumps(ticket),
        }
    )


def ticket_of(here: Stage) -> str:
    status, told = call(here.address("subscribe-tickets"), here.token(here.agent), {})
    assert status == 201
    return str(told["ticket"])


def test_a_page_of_a_listed_origin_listens_until_it_is_revoked(
    stage: SetUp, show: Callable[[Page], None]
) -> None:
    here = stage(workers=2, RESTANTE_HEARTBEAT_SECONDS="1")
    page = page_of(here)
    admin = here.token(here.administrator())
    settings = f"{here.served.url}/api/v1/admin/tenant"
    status, told = call(settings, admin, {"allowed_origins": [page.origin]}, method="PATCH")
    assert status == 200, told
    show(page)
    assert page.wait_for("stats") == [200, 0, True]
    over = page.wait_for("over")
    assert over[0] == 401
    assert over[1].startswith("Bearer ")
    assert page.wait_for("claim") == 200
    assert page.wait_for("ticket") == 201
    assert page.wait_for("ready")["claimable"] == 0
    here.publish()
    assert page.wait_for("inbox_updated") == {"cursor_hint": 1}
    disable = f"{here.served.url}/api/v1/admin/agents/{here.agent['agent_id']}/disable"
    assert call(disable, admin, {}, method="POST")[0] == 200
    assert page.wait_for("revoked") == {}
    # EventSource comes back by itself, with a ticket that is spent
    page.wait_for("closed")
    assert "rstt_" not in here.served.log.read_text()


def test_a_page_of_another_origin_reads_nothing(stage: SetUp, show: Callable[[Page], None]) -> None:
    here = stage()
    page = page_of(here, ticket_of(here))
    show(page)
    for name in ("stats", "over", "claim", "ticket"):
        assert page.wait_for(name) == "TypeError", name
    page.wait_for("closed")
    assert not page.of("ready")


def test_a_ticket_is_good_once_over_all_workers(stage: SetUp) -> None:
    here = stage(workers=2)

    def open_one(ticket: str) -> int:
        try:
            with urllib.request.urlopen(
                f"{here.address('subscribe')}?ticket={ticket}", timeout=40
            ) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    with ThreadPoolExecutor(6) as pool:
        for _ in range(4):
            statuses = sorted(pool.map(open_one, [ticket_of(here)] * 6))
            assert statuses == [200, 401, 401, 401, 401, 401]

    def streams() -> int:
        told: int = call(here.address("inbox/stats"), here.token(here.agent))[1]["streams"]
        return told

    wait_until(lambda: streams() == 0, "the streams to be missed")
    assert "rstt_" not in here.served.log.read_text()


def test_gunicorns_own_lines_have_no_ticket(stage: SetUp) -> None:
    here = stage()
    ticket = ticket_of(here)
    target = f"{here.address('subscribe').removeprefix(here.served.url)}?ticket={ticket}"
    for line in (f"GET {target}", f"GET\t{target} HTTP/1.1", f"G?T{target} {target} HTTP/1.1"):
        with socket.create_connection(("127.0.0.1", here.served.port), 20) as connection:
            connection.sendall(f"{line}\r\nHost: x\r\n\r\n".encode())
            assert b" 400 " in connection.recv(4096)
    said = "Invalid request from ip=127.0.0.1: Invalid HTTP "
    wait_until(lambda: here.served.log.read_text().count(said) == 3, "gunicorn to say so")
    assert "rstt_" not in here.served.log.read_text()
    assert "subscribe" not in here.served.log.read_text()
