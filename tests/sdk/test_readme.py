"""The README's quickstart and client examples run as they stand, in the order they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.sdk.fake_answers import AGENT
from tests.sdk.fake_server import FakeServer
from tests.sdk.test_command_line import environment

README = Path(__file__).resolve().parents[2] / "sdk" / "python" / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_of_the_readme_run(server: FakeServer, tmp_path: Path) -> None:
    bin_folder = str(Path(sys.executable).parent)
    env = environment(server, tmp_path, RESTANTE_PROJECT="demo")
    env["PATH"] = f"{bin_folder}:{env['PATH']}"
    settings, commands = blocks("sh")
    exported = re.findall(r"^export (\w+)=", settings, re.MULTILINE)
    assert len(exported) == 4
    assert set(exported) <= set(env)
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", commands],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "acked 1" in done.stdout
    assert AGENT in done.stdout
    for example in blocks("python"):
        ran = subprocess.run(
            [sys.executable, "-c", example],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
    assert server.inbox.all_completed()
    assert len(server.inbox.rows) == 2
