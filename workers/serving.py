"""The serving program: `python -m workers.serving --host H --port P --workers N`."""

# ruff: noqa: E402 - gevent patches before anything else is imported
from __future__ import annotations

from gevent import monkey

monkey.patch_all()

import argparse
import gc
import logging
import os
import resource
import sys
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger

from config import load_settings
from workers.run_folder import metrics_folder, run_folder

settings = load_settings()
folder = run_folder(settings.database_url)
os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(metrics_folder(folder))

# the application's modules once for all workers: what they make is made after the fork
import app
from workers import metrics
from workers.log_lines import NothingSent, lines, write_lines
from workers.runtime import Runtime
from workers.worker import Worker

log = logging.getLogger("restante.serving")

MEMORY = "/dev/shm"  # noqa: S108 - gunicorn unlinks its file there at once
KEEPALIVE_SECONDS = 20
GRACEFUL_SECONDS = 30
HUNG_SECONDS = 60
CALLS = 1_000
"""Connections of a worker besides its streams."""


class OwnLines(Logger):
    """gunicorn's log in lines like ours."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        for handler in self.error_log.handlers:
            handler.setFormatter(lines(settings))


class Program(BaseApplication):
    """gunicorn's settings, and what each worker makes of the application."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._flask: Any = None
        super().__init__()

    def load_config(self) -> None:
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> Any:
        self._flask = app.create_app(settings)
        return self._flask

    def unread(self, status: int) -> bytes:
        """The answer to a request that never comes to the application."""
        answer: bytes = self._flask.extensions["restante.unread"](status)
        return answer

    def make_runtime(self) -> Runtime:
        """What runs beside the requests of this worker."""
        streams = self._flask.extensions["restante"].streams
        # a stream is a file, and calls and the database need some as well
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files != resource.RLIM_INFINITY and files < streams.limit + CALLS:
            streams.limit = max(files - CALLS, files // 2)
            log.warning("streams_limited to=%s files=%s", streams.limit, files)
        return Runtime(self._flask.extensions["restante"], folder)


def options(host: str, port: int, workers: int, news: str) -> dict[str, Any]:
    """What gunicorn is set to; `worker_connections` caps streams and calls together."""
    return {
        "bind": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        "workers": workers,
        "worker_class": Worker,
        "worker_connections": settings.max_streams + CALLS,
        "worker_tmp_dir": MEMORY if os.access(MEMORY, os.W_OK) else None,
        "max_requests": 0,
        "keepalive": KEEPALIVE_SECONDS,
        "graceful_timeout": GRACEFUL_SECONDS,
        "timeout": HUNG_SECONDS,
        "control_socket_disable": True,
        # from loopback gunicorn would take SCRIPT_NAME and a scheme as fields of the request, which a proxy
        # there may pass on as a caller wrote them; RESTANTE_TRUSTED_PROXIES alone says what is believed
        "forwarded_allow_ips": "",
        "forwarder_headers": "",
        "secure_scheme_headers": {},
        "accesslog": None,
        "loglevel": "warning",
        "logger_class": OwnLines,
        "proc_name": "restante",
        "post_worker_init": partial(tell, news),
        "child_exit": forget_worker,
    }


def tell(news: str, worker: Worker) -> None:
    """Print what is to be known of this server, once: its first worker has all it needs to answer."""
    if worker.age == 1:
        with suppress(OSError):  # nobody reads it any more
            sys.stdout.write(f"{news}\n")
            sys.stdout.flush()


def read_news(descriptor: int) -> str:
    """What `restante serve` hands on."""
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode()


def forget_worker(arbiter: Any, worker: Worker) -> None:
    """Drop the gauges of a worker that has ended."""
    metrics.forget_process(worker.pid)


def raise_file_limit() -> None:
    """Take as many files as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def main() -> None:
    """Serve until a signal."""
    parser = argparse.ArgumentParser(prog="restante serve")
    parser.add_argument("--host", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--news", type=int, required=True, help="a descriptor to read")
    asked = parser.parse_args()
    write_lines(settings)
    # gunicorn writes what it cannot read, and whole addresses of what failed below the application
    logging.getLogger("gunicorn.error").addFilter(NothingSent())
    raise_file_limit()
    metrics.forget_the_dead(metrics_folder(folder))
    gc.collect()
    gc.freeze()  # what was made before the fork is shared, and stays so
    code = 1
    try:
        Program(options(asked.host, asked.port, asked.workers, read_news(asked.news))).run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        log.exception("serving_failed")
    finally:
        # master and workers come by here; taking an interpreter apart takes longer than a stop should
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    main()
