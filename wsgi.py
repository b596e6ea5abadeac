"""The application for a WSGI server of your own, started with gevent workers.

`restante serve` needs none of this and drains its streams; prefer it.
"""

# ruff: noqa: E402 - gevent patches before anything else is imported
from __future__ import annotations

from gevent import monkey

monkey.patch_all()

from app import create_app
from workers.run_folder import run_folder
from workers.runtime import Runtime

app = create_app()
_house = app.extensions["restante"]
runtime = Runtime(_house, run_folder(_house.settings.database_url))
runtime.start()
