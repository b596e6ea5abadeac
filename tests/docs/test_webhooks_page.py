"""The page on webhooks: what it has one do on one machine is done, and prints what it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.docs.transcripts import SERVED_AT, compare, pattern
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.serving import RestanteCommand, Served, environment
from tests.support.waiting import wait_until

PORT = "8443"


@pytest.mark.timeout(300)
def test_webhooks_are_tried_on_one_machine_as_the_page_says(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    shown = [b for b in blocks(ROOT / "docs" / "webhooks.md") if b.heading.startswith("Try it")]
    certificate, *steps = [block.text for block in shown if block.language == "sh"]
    (_, entering, receiving) = [
        line for block in shown if block.language == "console" for line in block.text.splitlines()
    ]
    assert entering == '$ cd "$HOOK"'
    receiver = shlex.split(receiving)
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    hook = tmp_path / "instance" / "hook"
    hook.parent.mkdir()
    database_url = f"sqlite:///{tmp_path / 'instance' / 'restante.db'}"
    RestanteCommand(database_url, settings=settings).upgrade()
    port = str(free_port())
    made = environment(database_url, {"HOOK": str(hook)})
    subprocess.run(["sh", "-eu", "-c", certificate], env=made, check=True, timeout=60)
    assert hook.stat().st_mode & 0o077 == 0
    allowed = {
        **settings,
        "RESTANTE_EGRESS_ALLOW": f"localhost:{port}",
        "RESTANTE_EGRESS_CA_FILE": str(hook / "cert.pem"),
    }
    served = serve(database_url, settings=allowed)
    path = f"{Path(sys.executable).parent}:{environment('', {})['PATH']}"
    env = environment(database_url, {**served.settings, "PATH": path, "HOOK": str(hook)})

    def here(text: str) -> str:
        return text.replace(SERVED_AT, served.url).replace(PORT, port)

    words = [here(word) for word in receiver[1:]]  # without the prompt
    log = tmp_path / "receiver.log"
    process = Process([*words, "--port", port], log=log, env=env, cwd=hook)
    wait_until(lambda: "Listening" in process.tail(), "the receiver to listen")
    script = "\necho; echo '=== the end of a block ==='\n".join(map(here, steps))
    done = subprocess.run(
        ["sh", "-eu", "-c", script],
        cwd=tmp_path,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    printed = done.stdout.split("=== the end of a block ===\n")
    *answers, received = [block for block in shown if block.language == "text"]
    assert compare([b for b in shown[1:] if b is not received], ["", *printed][1:]) == len(answers)
    assert process.popen.wait(60) == 0
    assert re.search(pattern(here(received.text)), process.tail()), process.tail()
