"""The server of a page: its files, and the tokens that it hands to it. The page has no secret."""

from __future__ import annotations

import base64
import json
import threading
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.sdk.real_server import Account

KINDS = {".js": "text/javascript", ".html": "text/html; charset=utf-8"}


class PageServer:
    """On a loopback port: `/` is an empty page, `/sdk/…` the package, `/token` a token of the agent's."""

    def __init__(self, package: Path, account: Account) -> None:
        handler = type("Bound", (Handler,), {"package": package, "account": account})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.origin = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class Handler(BaseHTTPRequestHandler):
    package: Path
    account: Account

    def do_GET(self) -> None:
        if self.path.startswith("/sdk/"):
            file = self.package / self.path.removeprefix("/sdk/")
            self._answer(file.read_bytes(), KINDS[file.suffix])
        else:
            self._answer(b"<!doctype html><title>page</title>", KINDS[".html"])

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(token_of(self.account, asked["scope"]), "application/json")

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        """Not into the test's output."""


def token_of(account: Account, scope: str | None) -> bytes:
    """The token endpoint's answer, by the secret that stays with the page's server."""
    fields = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
    pair = base64.b64encode(f"{account.client_id}:{account.client_secret}".encode()).decode()
    request = urllib.request.Request(
        f"{account.url}/oauth/token",
        data=urllib.parse.urlencode(fields).encode(),
        headers={"Authorization": f"Basic {pair}"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        content: bytes = answer.read()
        return content
