"""The stream of an operator's browser: topics of his own tenant, for as long as his session lasts."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from sqlalchemy import func, select, update

from restante.identity.roles import Role
from restante.identity.sessions import IDLE
from restante.identity.watchers import Watcher
from restante.signals.changes import Topic
from restante.signals.streams import MOST_OF_AN_AGENT, End, Stream
from restante.storage.tables.operators import operator
from restante.storage.tables.signals import wake
from tests.console.browsing import Browser, signed_in
from tests.http.world import Caller, World
from workers.watching import WatchBeats, Watching

Opened = tuple[Stream[Watcher], Iterator[bytes]]


def opened(world: World, browser: Browser) -> Opened:
    """The stream that a browser has just opened, and its frames; it is open as long as the test lasts."""
    before = {stream.stream_id for stream in world.house.watches.all()}
    answer = browser.get("/live")
    assert (answer.status_code, answer.mimetype) == (200, "text/event-stream")
    (stream,) = [one for one in world.house.watches.all() if one.stream_id not in before]
    frames: Iterator[bytes] = iter(answer.response)  # type: ignore[arg-type] # as it is passed on
    world.app.extensions.setdefault("opened", []).append(frames)
    return stream, frames


def says(frame: bytes) -> tuple[str, dict[str, object]]:
    """Event and data of a frame."""
    fields = dict(line.split(": ", 1) for line in frame.decode().strip().splitlines())
    return fields["event"], json.loads(fields["data"])


def reason(stream: Stream[Watcher]) -> End | None:
    return None if stream.ending is None else stream.ending.reason


def rings(world: World) -> int:
    counted = select(func.count()).select_from(wake)
    found: int = world.house.database.run(lambda s: s.connection().execute(counted).scalar_one())
    return found


@pytest.fixture
def watching(world: World) -> Watching:
    here = world.house
    return Watching(here.database, here.changes, here.watches)


@pytest.fixture
def beats(world: World) -> WatchBeats:
    return WatchBeats(world.house.database, world.house.watches)


def test_a_change_is_told_to_who_watches_its_tenant_and_to_nobody_else(
    world: World, alice: Caller, bob: Caller, watching: Watching
) -> None:
    world.tenant("rival", "main")
    ours, frames = opened(world, signed_in(world, role=Role.TENANT_ADMIN))
    theirs, _ = opened(world, signed_in(world, tenant="rival", email="r@example.com"))
    assert says(next(frames))[0] == "ready"
    watching.run_once()  # what was done so far
    ours.take_topics()
    ours.take()
    alice.publish(bob)
    assert watching.run_once()["rung"] == 1
    assert not theirs.rung
    assert says(next(frames)) == ("changed", {"topics": ["events"]})
    browser = signed_in(world, role=Role.TENANT_ADMIN, email="b@example.com")
    browser.get(f"/inboxes/{bob.id}")
    assert browser.send(f"/inboxes/{bob.id}/pause").status_code == 303
    assert watching.run_once()["rung"] == 1
    assert says(next(frames)) == ("changed", {"topics": ["agents"]})


def test_who_watches_is_told_with_each_sample_whatever_nobody_tells_of(
    world: World, watching: Watching
) -> None:
    _, frames = opened(world, signed_in(world))
    next(frames)
    assert sum(watching.run_once()["by_time"] for _ in range(15)) == 1
    assert Topic.FIGURES in says(next(frames))[1]["topics"]


def test_nothing_is_written_where_nobody_is_signed_in(
    world: World, alice: Caller, bob: Caller, watching: Watching
) -> None:
    signed_in(world)
    alice.publish(bob)
    before = rings(world)
    world.pass_time(IDLE.total_seconds() + 1)
    assert watching.run_once()["rung"] == 0
    assert rings(world) == before


@pytest.mark.parametrize("what", ["signed out", "idle", "role", "disabled"])
def test_it_ends_at_the_next_beat_when_its_session_does(
    world: World, beats: WatchBeats, what: str
) -> None:
    browser, other = signed_in(world), signed_in(world, email="b@example.com")
    stream, frames = opened(world, browser)
    theirs, _ = opened(world, other)
    mine = operator.c.email == "ops@example.com"
    if what == "signed out":
        browser.get("/account")
        browser.send("/sign-out")
    elif what == "idle":
        world.pass_time(IDLE.total_seconds() - 120)
        other.get("/account")
        world.pass_time(240)
    else:
        values = {"role": {"role": "tenant_admin"}, "disabled": {"status": "disabled"}}[what]
        change = update(operator).where(mine).values(values)
        world.house.database.run(lambda s: s.connection().execute(change))
    for one in (stream, theirs):
        one.beat_at = 0.0
    assert beats.run_once() == {"beats": 1, "revoked": 1}
    assert (reason(stream), reason(theirs)) == (End.REVOKED, None)
    next(frames)
    assert says(next(frames)) == ("revoked", {})
    assert world.house.watches.get(stream.stream_id) is None


def test_a_ninth_of_a_session_closes_its_oldest_and_nobody_elses(world: World) -> None:
    browser = signed_in(world)
    theirs, _ = opened(world, signed_in(world, email="b@example.com"))
    mine = [opened(world, browser)[0] for _ in range(MOST_OF_AN_AGENT + 1)]
    assert [reason(one) for one in mine] == [End.REPLACED] + [None] * MOST_OF_AN_AGENT
    assert reason(theirs) is None


def test_a_server_that_is_going_to_stop_says_so(world: World) -> None:
    _, frames = opened(world, signed_in(world))
    next(frames)
    world.house.hub.drain()
    event, data = says(next(frames))
    assert (event, data["reason"]) == ("reconnect", "shutdown")
    assert list(frames) == []


def test_it_is_for_who_is_signed_in_and_is_kept_by_nobody(world: World) -> None:
    stranger = Browser(world)
    assert stranger.get("/live").status_code == 303
    assert stranger.get("/live", headers={"HX-Request": "true"}).status_code == 401
    assert len(world.house.watches) == 0
    browser = signed_in(world)
    opened(world, browser)
    assert "no-store" in browser.answer.headers["Cache-Control"]
    assert browser.answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert browser.ask("HEAD", "/live").status_code == 200
    assert len(world.house.watches) == 1


def test_wu_016_a_page_that_is_kept_up_to_date_keeps_no_session_alive(world: World) -> None:
    browser = signed_in(world)
    world.pass_time(IDLE.total_seconds() - 60)
    assert browser.get("/quarantine", headers={"Restante-Live": "1"}).status_code == 200
    opened(world, browser)
    world.pass_time(90)
    headers = {"Restante-Live": "1", "HX-Request": "true"}
    answer = browser.get("/quarantine", headers=headers)
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (401, "/sign-in")
