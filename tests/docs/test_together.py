"""docs/together.md and the README's start, word by word, beside the server that `make serve` starts."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Error, Page

from tests.docs.pages import ROOT, blocks
from tests.docs.transcripts import END, SERVED_AT, compare
from tests.support.chromium import chromium
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.serving import RestanteProcess, environment
from tests.support.unavailable import had
from tests.support.waiting import wait_until

PAGE_AT, PAGE_PORT = "http://127.0.0.1:8080", "http.server 8080"


@dataclass(frozen=True, slots=True)
class Checkout:
    """A folder that is to commands what a clone is in which `make serve` runs."""

    folder: Path
    url: str
    environment: dict[str, str]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Its server is started by the words of `make serve`'s recipe."""
    folder = tmp_path_factory.mktemp("clone")
    for name in ("sdk", "docs"):
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    recipe = re.search(r"@exec \$\(BIN\)/restante (serve .*)", (ROOT / "Makefile").read_text())
    assert recipe is not None
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    settings = {
        "RESTANTE_INSTANCE": str(folder / "instance"),
        "RESTANTE_STATE_DIR": str(folder / "state"),
    }
    own = environment(f"sqlite:///{folder / 'instance' / 'restante.db'}", settings)
    words = recipe[1].replace("$(PORT)", str(port)).split()
    process = RestanteProcess(words, log=folder / "serve.log", env=own)
    wait_until(lambda: f"Restante serves on {url}" in process.tail(80), "it to serve")
    yield Checkout(folder, url, own)
    process.kill_group()


def shell(here: Checkout, text: str, log: Path) -> Process:
    return Process(["sh", "-eu", "-c", text], log=log, env=here.environment, cwd=here.folder)


@pytest.mark.timeout(300)
def test_four_agents_share_the_demo_tenants_work(checkout: Checkout, tmp_path: Path) -> None:
    shown = list(blocks(ROOT / "docs" / "together.md"))
    port = free_port()
    site = f"http://127.0.0.1:{port}"
    script = f"\necho; echo '{END}'\n".join(b.text for b in shown if b.language == "sh")
    script = script.replace(SERVED_AT, checkout.url).replace(PAGE_AT, site)
    script = script.replace(PAGE_PORT, f"http.server {port}")
    context = chromium()
    browser = had(context.__enter__)
    try:
        running = shell(checkout, script, tmp_path / "shell.log")
        index = checkout.folder / "instance" / "together" / "site" / "index.html"
        wait_until(
            lambda: index.exists() or not running.is_running(),
            "the page to be made",
            timeout_seconds=120,
        )
        page = browser.new_page()
        wait_until(lambda: opened(page, site), "the page to be served")
        assert running.popen.wait(120) == 0, running.tail()
        wait_until(lambda: is_over(running), "what it had started to end")
        assert page.locator("li").all_text_contents() == ["Mind the step."]
    finally:
        context.__exit__(None, None, None)
        running.kill_group()
    printed = running.log.read_text().split(f"{END}\n")
    assert compare(shown, printed) == 2


def test_the_start_of_the_README_receives_the_first_event(
    checkout: Checkout, tmp_path: Path
) -> None:
    (make, listen) = [b.text for b in blocks(ROOT / "README.md") if b.heading == "Start"]
    assert make == "make serve"
    running = shell(checkout, listen, tmp_path / "shell.log")
    try:
        wait_until(lambda: "greeting" in running.log.read_text(), "the first event")
    finally:
        running.kill_group()


def is_over(process: Process) -> bool:
    """Tell whether nothing runs any more of all that it started."""
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return True
    return False


def opened(page: Page, url: str) -> bool:
    """Tell whether the page is shown; its server may not be there yet."""
    try:
        return page.goto(url) is not None
    except Error:
        return False
