"""How a shot is fired: into the application in this process, as its server would call it, or over HTTP."""

from __future__ import annotations

import http.client
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from flask import Flask
from sqlalchemy import Engine, event
from werkzeug.test import run_wsgi_app

from tests.fuzz import hostile
from tests.fuzz.judge import Answer
from tests.fuzz.shots import Shot

FROM = "127.9.9.9"
"""Failed sign-ins are counted by address: households sign in from another one."""


@dataclass
class InProcess:
    """Fires into an application, and knows which statements were put together from input."""

    app: Flask
    host: str
    statements: list[str] = field(default_factory=list)

    def __call__(self, shot: Shot) -> Answer:
        path, _, query = shot.target.partition("?")
        body = shot.body or b""
        environ = {
            "REQUEST_METHOD": shot.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query,
            "RAW_URI": shot.target,
            "REMOTE_ADDR": FROM,
            "SERVER_NAME": "127.0.0.1",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": self.host,
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(body),
            "wsgi.input_terminated": True,
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": False,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }
        if shot.body is not None:
            environ["CONTENT_LENGTH"] = str(len(body))
        for name, value in shot.fields.items():
            key = name.upper().replace("-", "_")
            environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
        parts, status, headers = run_wsgi_app(self.app.wsgi_app, environ)
        try:
            is_stream = "event-stream" in headers.get("Content-Type", "")
            text = b"" if is_stream else b"".join(parts)
        finally:
            if hasattr(parts, "close"):
                parts.close()
        return Answer(int(status[:3]), {k.lower(): v for k, v in headers}, text)

    @contextmanager
    def watching(self, engine: Engine) -> Iterator[None]:
        """Collect the statements whose text has something of a probe in it."""

        def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
            if hostile.MARK in statement:
                self.statements.append(statement)

        event.listen(engine, "before_cursor_execute", note)
        try:
            yield
        finally:
            event.remove(engine, "before_cursor_execute", note)


@dataclass
class OverHttp:
    """Fires at a served installation; what is not answered in time is a 599."""

    host: str
    port: int
    timeout_seconds: float = 30.0
    _connection: http.client.HTTPConnection | None = None

    def __call__(self, shot: Shot) -> Answer:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                self.host, self.port, timeout=self.timeout_seconds, source_address=(FROM, 0)
            )
        wire = self._connection
        try:
            wire.putrequest(shot.method, shot.target, skip_host="Host" in shot.fields)
            for name, value in shot.fields.items():
                wire.putheader(name, value.encode("latin-1"))
            if shot.body is not None:
                wire.putheader("Content-Length", str(len(shot.body)))
            wire.endheaders(shot.body or None)
            got = wire.getresponse()
            fields = {name.lower(): value for name, value in got.headers.items()}
            if "event-stream" in fields.get("content-type", ""):
                self._hang_up()
                return Answer(got.status, fields, b"")
            answer = Answer(got.status, fields, got.read())
        except TimeoutError:
            self._hang_up()
            return Answer(599, {}, b"no answer in time")
        except (OSError, http.client.HTTPException) as error:
            # a line that is too long is hung up on
            self._hang_up()
            return Answer(0, {}, repr(error).encode())
        if got.will_close:
            self._hang_up()
        return answer

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
