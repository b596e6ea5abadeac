"""The README's transcript is run word by word, on a server of its own."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, blocks
from tests.support.serving import RestanteCommand, Served, environment

SECTIONS = ("The first five minutes", "An agent without writing HTTP")
SERVED_AT = "http://127.0.0.1:8000"
END = "=== the end of a block ==="


def transcript() -> list[Block]:
    """Commands, and between them what they answer."""
    return [
        b for b in blocks(ROOT / "README.md") if b.heading in SECTIONS and b.language != "python"
    ]


@pytest.fixture
def answers(serve: Callable[..., Served], tmp_path: Path) -> list[str]:
    """What each command block of the transcript printed."""
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    (tmp_path / "instance").mkdir()
    database_url = f"sqlite:///{tmp_path / 'instance' / 'restante.db'}"
    RestanteCommand(database_url, settings=settings).upgrade()
    served = serve(database_url, settings=settings)
    commands = [block.text for block in transcript() if block.language == "sh"]
    script = f"\necho; echo '{END}'\n".join(commands)
    own = {**served.settings, "RESTANTE_STATE_DIR": str(tmp_path / "state")}
    done = subprocess.run(
        ["sh", "-eu", "-c", script.replace(SERVED_AT, served.url)],
        cwd=ROOT,
        env=environment(database_url, own),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.split(f"{END}\n")
    assert len(printed) == len(commands)
    return printed


@pytest.mark.timeout(300)
def test_README_answers_are_what_its_commands_print(answers: list[str]) -> None:
    shown = transcript()
    compared, printed = 0, iter(answers)
    for block, after in zip(shown, [*shown[1:], None], strict=True):
        if block.language != "sh":
            continue
        text = next(printed)
        if after is not None and after.language == "json":
            assert_alike(json.loads(after.text), json.loads(text), block.text)
            compared += 1
        elif after is not None and after.language == "text":
            assert re.search(pattern(after.text), text), f"{block.text}\nprinted\n{text}"
            compared += 1
    assert compared == 9


def test_README_python_is_python(tmp_path: Path) -> None:
    (program,) = [b.text for b in blocks(ROOT / "README.md") if b.language == "python"]
    code = compile(program.split("Agent(")[0], "README.md", "exec")
    exec(code, {})  # noqa: S102 - the README's own program, up to where it would run for ever


def pattern(shown: str) -> str:
    """A regular expression for text in which `…` stands for anything within a line."""
    return re.escape(shown).replace("…", ".*")


def assert_alike(shown: Any, printed: Any, where: str) -> None:
    """Equal, but for `…` in texts, and waits, which are drawn at random."""
    if isinstance(shown, dict):
        assert isinstance(printed, dict)
        assert shown.keys() == printed.keys(), where
        for name in shown:
            if name == "next_poll_ms":
                assert isinstance(printed[name], int)
            else:
                assert_alike(shown[name], printed[name], f"{where}\n{name}")
    elif isinstance(shown, list):
        assert len(shown) == len(printed), where
        for one, other in zip(shown, printed, strict=True):
            assert_alike(one, other, where)
    elif isinstance(shown, str) and isinstance(printed, str):
        assert re.fullmatch(pattern(shown), printed), f"{where}: {printed}"
    else:
        assert shown == printed, where
