"""State through the API: pages, what page 1 fixes, gzip (contract 5.9)."""

from __future__ import annotations

import gzip

import orjson

from tests.http.world import Caller, World


def fill(caller: Caller, keys: int, size: int = 10) -> None:
    for number in range(keys):
        answer = caller.call("PUT", f"A/memory/main/k{number}", json={"value": "x" * size})
        assert answer.status_code == 200


def test_a_first_start(alice: Caller, bob: Caller) -> None:
    bob.publish(alice)
    fill(alice, 2)
    alice.call("DELETE", "A/memory/main/k0")
    state = alice.get("A/state")
    assert (state.status_code, state.headers["Vary"]) == (200, "Accept-Encoding")
    assert state.json | {"epoch": "", "memory": []} == {
        "cursor": 1,
        "epoch": "",
        "memory_revision": 3,
        "claimable": 1,
        "assignments": [],
        "memory": [],
        "next_page_token": None,
    }
    assert state.json["epoch"] == alice.get("A/inbox").json["epoch"]
    assert [e["key"] for e in state.json["memory"]] == ["k1"]


def test_pages(alice: Caller) -> None:
    fill(alice, 5)
    first = alice.get("A/state?limit=2").json
    second = alice.get(f"A/state?limit=2&page_token={first['next_page_token']}").json
    third = alice.get(f"A/state?limit=2&page_token={second['next_page_token']}").json
    keys = [e["key"] for page in (first, second, third) for e in page["memory"]]
    assert keys == [f"k{number}" for number in range(5)]
    assert third["next_page_token"] is None
    assert "assignments" not in second
    assert second["memory_revision"] == first["memory_revision"] == 5
    wrong = alice.get("A/state?page_token=nonsense")
    assert (wrong.status_code, wrong.json["type"]) == (400, "/problems/page-token-invalid")
    assert alice.get("A/state?limit=1001").status_code == 422


def test_it_is_compressed_for_those_who_take_it(alice: Caller) -> None:
    fill(alice, 20, 500)
    plain = alice.get("A/state")
    assert "Content-Encoding" not in plain.headers
    zipped = alice.get("A/state", headers={"Accept-Encoding": "br, gzip;q=0.5"})
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert len(zipped.data) < len(plain.data) / 4
    assert orjson.loads(gzip.decompress(zipped.data)) == plain.json
    for none in ("identity", "gzip;q=0", ""):
        answer = alice.get("A/state", headers={"Accept-Encoding": none})
        assert "Content-Encoding" not in answer.headers


def test_a_gone_cursor_leads_here(world: World, alice: Caller, bob: Caller) -> None:
    bob.publish(alice)
    gone = alice.get("A/inbox?after_cursor=7")
    state = alice.get(gone.json["state_url"]).json
    cursor, epoch = state["cursor"], state["epoch"]
    page = alice.get(f"A/inbox?after_cursor={cursor}&epoch={epoch}")
    assert (page.status_code, page.json["events"], page.json["claimable"]) == (200, [], 1)
