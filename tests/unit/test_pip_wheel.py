"""Fetching pip's wheel for a Python without ensurepip, from an index on loopback."""

from __future__ import annotations

import base64
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pip_wheel
import pytest

CONTENT = b"a wheel"


class Index(ThreadingHTTPServer):
    """A package index with relative addresses that asks for a login."""

    asked: list[str]
    login: str | None


class Pages(BaseHTTPRequestHandler):
    server: Index

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        expected = self.server.login
        sent = self.headers.get("Authorization", "")
        if expected and sent != "Basic " + base64.b64encode(expected.encode()).decode():
            self.send_error(401)
            return
        page = f'<a href="../../files/{pip_wheel.WHEEL}#sha256=0">{pip_wheel.WHEEL}</a>'
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page.encode() if self.path == "/simple/pip/" else CONTENT)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    for variable in (
        "PIP_CONFIG_FILE",
        "PIP_EXTRA_INDEX_URL",
        "PIP_CERT",
        "PIP_PROXY",
        "HTTP_PROXY",
        "http_proxy",
    ):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    server = Index(("127.0.0.1", 0), Pages)
    server.asked, server.login = [], None
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def simple(index: Index, login: str = "") -> str:
    return f"http://{login}127.0.0.1:{index.server_address[1]}/simple"


def pin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(pip_wheel, "SHA256", hashlib.sha256(content).hexdigest())


def test_a_relative_address_is_read_from_the_page(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pin(monkeypatch, CONTENT)
    monkeypatch.setenv("PIP_INDEX_URL", simple(index))
    assert pip_wheel.fetch_pip(tmp_path).read_bytes() == CONTENT
    assert index.asked == ["/simple/pip/", f"/files/{pip_wheel.WHEEL}"]


def test_a_file_of_another_hash_is_refused(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pin(monkeypatch, b"another wheel")
    monkeypatch.setenv("PIP_INDEX_URL", simple(index))
    with pytest.raises(pip_wheel.NoPip, match="hash is pinned"):
        pip_wheel.fetch_pip(tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_login_of_the_index_goes_to_its_files_and_into_no_message(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pin(monkeypatch, CONTENT)
    index.login = "name:pass word"
    monkeypatch.setenv("PIP_INDEX_URL", simple(index, "name:pass%20word@"))
    assert pip_wheel.fetch_pip(tmp_path).read_bytes() == CONTENT
    monkeypatch.setenv("PIP_INDEX_URL", simple(index, "name:wrong@"))
    with pytest.raises(pip_wheel.NoPip) as refused:
        pip_wheel.fetch_pip(tmp_path)
    assert "401" in str(refused.value)
    assert "wrong" not in str(refused.value)


def test_a_variable_wins_over_a_configuration_file(
    index: Index, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pin(monkeypatch, CONTENT)
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nindex-url = http://127.0.0.1:1/simple\ntimeout = 7\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    assert pip_wheel.settings()["index-url"] == "http://127.0.0.1:1/simple"
    monkeypatch.setenv("PIP_INDEX_URL", simple(index))
    assert pip_wheel.settings()["timeout"] == "7"
    assert pip_wheel.fetch_pip(tmp_path).read_bytes() == CONTENT
