"""A run that tells its seed tells one: it is what somebody types to see the run again."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import pytest

from tests.acceptance.seeds import drawn_seed
from tests.chaos import herd, rolling, run
from tests.support.unavailable import Unavailable


def nowhere(*args: Any, **kwargs: Any) -> NoReturn:
    raise Unavailable("a test")


@pytest.mark.parametrize(("given", "told"), [(["--seed", "7"], "7"), ([], "4711")])
@pytest.mark.parametrize(
    ("main", "holder", "name"),
    [
        (run.main, run, "house"),
        (rolling.main, rolling, "before"),
        (herd.main, herd, "start"),
    ],
)
def test_a_run_tells_one_seed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    main: Callable[[Sequence[str]], None],
    holder: Any,
    name: str,
    given: list[str],
    told: str,
) -> None:
    monkeypatch.setattr(holder, name, nowhere)
    monkeypatch.setattr(run, "special", lambda *_: {})
    monkeypatch.setattr(herd, "allow_sockets", lambda _: None)
    monkeypatch.setenv("RESTANTE_TEST_SEED", "4711")
    with pytest.raises(SystemExit, match="a test"):
        main(["mariadb", *given])
    assert re.findall(r"seed (\d+)", capsys.readouterr().out) == [told]


def test_a_draw_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`make chaos` begins again in a namespace of its own: what was drawn before is nobody's seed."""
    monkeypatch.delenv("RESTANTE_TEST_SEED", raising=False)
    assert 0 <= drawn_seed() < 10**6
    assert capsys.readouterr().out == ""
