"""`restante leak-test` as a command: its processes are killed, and a build that loses mail is caught."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.serving import RESTANTE, ROOT, RestanteCommand

# Every process of the command begins with this: one commit in nine does not happen, and nobody hears of it.
FORGETS = """
import itertools
from restante.storage import transaction
real, number = transaction.commit, itertools.count(1)
def commit(session):
    session.rollback() if next(number) % 9 == 0 else real(session)
if "leak_test.hand" in " ".join(__import__("sys").orig_argv):
    transaction.commit = commit
"""
NO_FENCE = """
from restante.inbox import lifecycle
lifecycle.fence = lambda *_: None
"""


def leak_test(
    url: str,
    restante_command: Callable[[str], RestanteCommand],
    *words: str,
    path: Path | None = None,
) -> tuple[int, str, str]:
    command = restante_command("sqlite:////nowhere/it/is/not/asked.db")
    if path is not None:
        command.environment["PYTHONPATH"] = str(path)
    # a process of its own from the beginning: what PYTHONPATH says is read there
    done = subprocess.run(
        [RESTANTE, "leak-test", "--database-url", url, *words],
        env=command.environment,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.one_server("mysql")
@pytest.mark.timeout(300)
def test_nothing_is_lost_when_processes_are_killed(
    empty_database_url: str, restante_command: Callable[[str], RestanteCommand]
) -> None:
    code, out, err = leak_test(empty_database_url, restante_command, "--seed", "11", "--json")
    told = json.loads(out)
    assert (code, told["ok"]) == (0, True), out
    assert told["seed"] == 11
    assert "seed 11" in err
    assert {check["name"] for check in told["checks"]} >= {"no_loss", "replay", "poison_threshold"}
    assert told["faults"] == {"publications": 160, "kills": 10, "events": 320}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("broken", "caught"),
    [(FORGETS, "no_loss"), (NO_FENCE, "stale_claims")],
    ids=["loses", "no fence"],
)
def test_a_broken_build_is_caught(
    tmp_path: Path,
    restante_command: Callable[[str], RestanteCommand],
    broken: str,
    caught: str,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(broken)
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    code, out, _ = leak_test(url, restante_command, "--seed", "3", "--json", path=tmp_path)
    told = json.loads(out)
    assert (code, told["ok"]) == (1, False)
    assert caught in {check["name"] for check in told["checks"] if not check["ok"]}, out


def test_what_cannot_be_tried_is_refused(
    tmp_path: Path, restante_command: Callable[[str], RestanteCommand]
) -> None:
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    owner = restante_command(url)
    owner.upgrade()
    owner.create_tenant("acme")
    for target, expected in ((url, "acme"), ("mysql://x", "--database-url names no database")):
        code, out, err = leak_test(target, restante_command, "--json")
        assert (code, out) == (1, ""), target
        assert expected in err
