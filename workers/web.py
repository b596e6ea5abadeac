"""`restante serve`: gunicorn with our worker, in a fresh interpreter that gevent patches first."""

from __future__ import annotations

import os
import sys
import tempfile

from config import PREFIX, Settings, SettingsRefused
from workers.run_folder import RunFolderRefused, run_folder

DEFAULT_WORKERS = 2


def serve(settings: Settings, *, host: str, port: int, workers: int | None, news: str) -> None:
    """Serve until a signal; does not return. The settings have been checked. `news`: printed once it answers.

    SQLite is served by one process (start.py has taken its lock). The program replaces itself:
    gevent has to patch the standard library before anything else is imported.
    """
    if settings.embedded:
        if workers not in (None, 1):
            fault = (
                f"--workers {workers} does not do with SQLite, which one process serves: "
                "leave it out, or use MySQL or MariaDB."
            )
            raise SettingsRefused([fault])
        workers = 1
    try:
        run_folder(settings.database_url)
    except RunFolderRefused as error:
        raise SettingsRefused([str(error)]) from None
    options = ["--host", host, "--port", str(port), "--workers", str(workers or DEFAULT_WORKERS)]
    options += ["--news", str(_handed_on(news))]
    given = {
        "INSTANCE": str(settings.instance),
        "DATABASE_URL": settings.database_url,
        "PUBLIC_URL": settings.public_url,
        "MAINTENANCE": settings.maintenance,
    }
    environment = {**os.environ, **{PREFIX + name: text for name, text in given.items()}}
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(  # noqa: S606 - this very interpreter
        sys.executable, [sys.executable, "-m", "workers.serving", *options], environment
    )


def _handed_on(news: str) -> int:
    """A descriptor that reads it in the program to come: a link to sign in is nothing for its environment."""
    with tempfile.TemporaryFile() as file:
        file.write(news.encode())
        file.flush()
        descriptor = os.dup(file.fileno())
    os.set_inheritable(descriptor, True)
    return descriptor
