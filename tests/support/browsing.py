"""A page of another origin in a real browser: what its script tells is posted back to who served it."""

from __future__ import annotations

import json
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.waiting import wait_until

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
START_SECONDS = 90.0


class Page:
    """A page on a loopback port of its own. Its script tells by `tell(name, value)`."""

    def __init__(self, script: str) -> None:
        self.told: list[tuple[str, Any]] = []
        text = f"<!doctype html><title>page</title><script>{TELL}{script}</script>"
        port = free_port()
        self.origin = f"http://127.0.0.1:{port}"
        self._server = ThreadingHTTPServer(("127.0.0.1", port), _handler(text, self.told))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def of(self, name: str) -> list[Any]:
        """What was told under the name."""
        return [value for told, value in self.told if told == name]

    def wait_for(self, name: str, *, timeout_seconds: float = START_SECONDS) -> Any:
        """The first that was told under it, once it was."""
        wait_until(
            lambda: self.of(name),
            f"the page to tell of {name}, beside {self.told}",
            timeout_seconds=timeout_seconds,
        )
        return self.of(name)[0]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


TELL = """
const tell = (name, value) => fetch("/told", {method: "POST", body: JSON.stringify([name, value])});
const attempt = async (name, what) => {
  let value;
  try { value = await what(); } catch (error) { value = error.name; }
  await tell(name, value);
};
"""


def _handler(text: str, told: list[tuple[str, Any]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(text if self.path == "/" else "", "text/html; charset=utf-8")

        def do_POST(self) -> None:
            name, value = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told.append((name, value))
            self._answer("", "text/plain")

        def _answer(self, content: str, kind: str) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(content.encode())

        def log_message(self, *args: object) -> None:
            """Not into the test's output."""

    return Handler


def browse(page: Page, folder: Path) -> Process:
    """A browser that shows the page; it asks nobody but this machine. Kill its group."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no browser on this machine: none of {', '.join(BROWSERS)}")
    return Process(
        [
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--user-data-dir={folder / 'profile'}",
            "--remote-debugging-port=0",
            f"{page.origin}/",
        ],
        log=folder / "browser.log",
    )
