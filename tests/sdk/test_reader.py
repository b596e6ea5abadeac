"""Reading by cursor: nothing missed, nothing persisted before it is safe, 410 left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from restante_agent import Overloaded, Reader, Unreachable
from tests.sdk.conftest import HandClock, make_client
from tests.sdk.fake_answers import Reply, problem
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import Broken


def make(inbox: FakeInbox, clock: HandClock, path: Path, **options: Any) -> Reader:
    client = make_client(inbox, clock)
    return Reader(client, state_dir=path, limit=3, sleep=clock.sleep, **options)


def numbers(reader: Reader) -> list[int]:
    return [e.payload["n"] for page in reader.pages(follow=False) for e in page.events]


def test_every_page_once_across_runs(inbox: FakeInbox, clock: HandClock, tmp_path: Path) -> None:
    for _ in range(7):
        inbox.publish()
    assert numbers(make(inbox, clock, tmp_path)) == [1, 2, 3, 4, 5, 6, 7]
    assert numbers(make(inbox, clock, tmp_path)) == []
    inbox.publish()
    assert numbers(make(inbox, clock, tmp_path)) == [8]
    assert numbers(make(inbox, clock, tmp_path, name="another")) == list(range(1, 9))


def test_a_page_that_was_not_made_safe_comes_again(
    inbox: FakeInbox, clock: HandClock, tmp_path: Path
) -> None:
    for _ in range(5):
        inbox.publish()
    pages = make(inbox, clock, tmp_path).pages(follow=False)
    assert [e.payload["n"] for e in next(pages).events] == [1, 2, 3]
    assert [e.payload["n"] for e in next(pages).events] == [4, 5]
    pages.close()  # the process dies while it works on the second page
    assert numbers(make(inbox, clock, tmp_path)) == [4, 5]


@pytest.mark.parametrize("has_state", [True, False])
def test_a_gone_cursor_is_left_behind_for_good(
    inbox: FakeInbox, clock: HandClock, tmp_path: Path, *, has_state: bool
) -> None:
    recovered = []
    inbox.publish()
    numbers(make(inbox, clock, tmp_path))
    inbox.has_state, inbox.epoch = has_state, "ep_2"
    reader = make(
        inbox, clock, tmp_path, recovery=lambda gone, state: recovered.append((gone, state))
    )
    assert numbers(reader) == []
    ((gone, state),) = recovered
    assert (gone.epoch, state is not None) == ("ep_2", has_state)
    inbox.publish()
    assert numbers(make(inbox, clock, tmp_path)) == [2]
    assert inbox.count("/state") == 1


def test_a_follower_outlasts_a_server_that_is_away(
    inbox: FakeInbox, clock: HandClock, tmp_path: Path
) -> None:
    inbox.publish()
    left = [20]

    def before(method: str, path: str, body: Any) -> Reply | None:
        if path.endswith("/inbox") and left[0]:
            left[0] -= 1
            if left[0] % 2:
                raise Broken
            return problem(503, "overloaded", retry_after=4)
        return None

    inbox.before = before
    page = next(make(inbox, clock, tmp_path).pages())
    assert [e.payload["n"] for e in page.events] == [1]
    assert all(0 <= seconds <= 60 for seconds in clock.slept)
    left[0] = 20
    with pytest.raises((Unreachable, Overloaded)):
        numbers(make(inbox, clock, tmp_path / "other"))
