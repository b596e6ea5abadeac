"""Pages whose commands are run word by word, on a server of their own, and whose answers are compared."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT, Block
from tests.support.serving import RestanteCommand, Served, environment

SERVED_AT = "http://127.0.0.1:8000"
END = "=== the end of a block ==="


def run(
    shown: Sequence[Block],
    serve: Callable[..., Served],
    folder: Path,
    *,
    settings: Mapping[str, str] | None = None,
    begin: Callable[[Served], Mapping[str, str]] = lambda _: {},
) -> list[str]:
    """What each command block printed, in one shell; `begin` makes what they need and says its variables."""
    settings = {"RESTANTE_INSTANCE": str(folder / "instance"), **(settings or {})}
    (folder / "instance").mkdir()
    database_url = f"sqlite:///{folder / 'instance' / 'restante.db'}"
    RestanteCommand(database_url, settings=settings).upgrade()
    served = serve(database_url, settings=settings)
    commands = [block.text for block in shown if block.language == "sh"]
    script = f"\necho; echo '{END}'\n".join(commands)
    own = {**served.settings, "RESTANTE_STATE_DIR": str(folder / "state"), **begin(served)}
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


def compare(shown: Sequence[Block], answers: Sequence[str]) -> int:
    """How many answers that the page shows are what was printed; AssertionError where one is not."""
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
    return compared


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
