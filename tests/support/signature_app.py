"""The checks of signed requests behind a real server: `python -m tests.support.signature_app PORT`.

Served by gunicorn with Restante's own worker, which leaves a request as it came; the clock is that
of the field Test-Now, the public URL that of Test-Origin, the keys are those of the vectors.
"""

# ruff: noqa: E402 - gevent patches before anything else is imported
from __future__ import annotations

from gevent import monkey

monkey.patch_all()

import sys
from collections.abc import Callable, Iterable
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.workers.ggevent import GeventWorker

from blueprints.problems import kind_of
from blueprints.signatures import message_of
from blueprints.unread import answer
from restante.errors import RestanteError
from restante.identity.signatures.verification import Spending, verify
from tests.vectors import rfc9421 as vectors
from workers.worker import Worker


class Bare(Worker):
    """Reads requests as Restante's does, and runs nothing beside them."""

    load_wsgi = GeventWorker.load_wsgi
    run = GeventWorker.run
    handle_exit = GeventWorker.handle_exit


class Checks:
    """200 with the key that signed, or the status and slug of the problem."""

    def __init__(self) -> None:
        self._keys = vectors.profile_keys()
        self._spent: set[tuple[str, str]] = set()

    def _spend(self, spending: Spending) -> bool:
        pair = (spending.key.key_id, spending.nonce)
        is_new = pair not in self._spent
        self._spent.add(pair)
        return is_new

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        if environ.get("HTTP_TEST_FORGET"):
            self._spent.clear()
        try:
            key = verify(
                message_of(environ, environ["HTTP_TEST_ORIGIN"]),
                now=float(environ["HTTP_TEST_NOW"]),
                find_key=self._keys.get,
                read_content=environ["wsgi.input"].read,
                spend_nonce=self._spend,
            )
            status, text = "200 OK", key.key_id
        except RestanteError as error:
            kind = kind_of(type(error))
            status, text = f"{kind.status} Refused", kind.slug
        start_response(status, [("Content-Length", str(len(text)))])
        return [text.encode()]


class Program(BaseApplication):
    """gunicorn on one port, one worker: the nonces are its own."""

    def load_config(self) -> None:
        self.cfg.set("bind", f"127.0.0.1:{sys.argv[1]}")
        self.cfg.set("worker_class", Bare)
        self.cfg.set("control_socket_disable", True)

    def load(self) -> Checks:
        return Checks()

    def unread(self, status: int) -> bytes:
        return answer(status)


if __name__ == "__main__":
    Program().run()
