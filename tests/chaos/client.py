"""A caller that writes down every call before it is sent and once it is answered. Standard library alone.

It never repeats by itself: that is for the hands, so that every sending is a call of the history.
"""

from __future__ import annotations

import base64
import http.client
import json
import random
import time
from collections.abc import Callable
from itertools import count
from typing import Any
from urllib.parse import urlencode

from tests.chaos.history import Journal

TIMEOUT_SECONDS = 4.0
PAUSE_SECONDS = 0.2
UNSAID = 0
"""The status of what was not answered."""
Answer = tuple[int, dict[str, Any]]


class Caller:
    """One client with one connection, made anew where it broke."""

    def __init__(self, told: dict[str, Any], journal: Journal, draw: random.Random) -> None:
        """`told`: port, client_id, client_secret, name, start (a number that no other start had)."""
        self.name = told["name"]
        self._port = told["port"]
        self._pair = f"{told['client_id']}:{told['client_secret']}"
        self._calls = (f"{self.name}/{told['start']}/{n}" for n in count())
        self._journal, self.draw = journal, draw
        self._token = ""
        self._connection: http.client.HTTPConnection | None = None

    def call(
        self,
        verb: str,
        asked: dict[str, Any],
        request: tuple[str, str, Any],
        *,
        key: str | None = None,
        tell: Callable[[dict[str, Any]], dict[str, Any]] = dict,
    ) -> Answer:
        """Send it once. `request`: method, path and body; `tell` makes of an answer what is written down."""
        self._sign_in()
        call = next(self._calls)
        self._journal.write(call=call, client=self.name, verb=verb, asked=asked)
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        status, answer = self._send(*request, headers)
        if status != UNSAID:
            told = tell(answer) if 200 <= status < 300 else answer
            self._journal.write(call=call, status=status, told=told)
        if status == 401:
            self._token = ""
        return status, answer

    def pause(self, answer: Answer) -> None:
        """A little, and longer after what went wrong."""
        most = PAUSE_SECONDS if answer[0] in (UNSAID, 429, 500, 502, 503) else PAUSE_SECONDS / 10
        time.sleep(self.draw.uniform(0, most))

    def hang_up(self) -> None:
        """The next call has a new connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _sign_in(self) -> None:
        while not self._token:
            basic = base64.b64encode(self._pair.encode()).decode()
            form = "application/x-www-form-urlencoded"
            headers = {"Authorization": f"Basic {basic}", "Content-Type": form}
            body = urlencode({"grant_type": "client_credentials"})
            answer = self._send("POST", "/oauth/token", body, headers)
            self._token = answer[1].get("access_token", "")
            if not self._token:
                self.pause((UNSAID, {}))

    def _send(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Answer:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                "127.0.0.1", self._port, timeout=TIMEOUT_SECONDS
            )
        sent = body if isinstance(body, str | None) else json.dumps(body)
        try:
            self._connection.request(method, path, sent, headers)
            answer = self._connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        except (OSError, http.client.HTTPException, ValueError):
            self.hang_up()
            return UNSAID, {}
