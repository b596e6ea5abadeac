"""What happens before anything is served: every check that can refuse, then the demo tenant."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from config import PREFIX, Settings, SettingsRefused, is_loopback, load_settings
from restante.identity.token_keys import TokenKeys
from restante.storage import incarnation, schema
from restante.storage.engine import make_engine
from restante.storage.finding import Level
from restante.storage.instance import lock_for_serving, make_database_file
from restante.storage.probe import examine
from restante.storage.transaction import Database
from workers.demo import demo_link, make_demo, what_to_do
from workers.port import require_free

log = logging.getLogger("restante.start")


def settings_for(host: str, port: int) -> Settings:
    """The settings; without RESTANTE_PUBLIC_URL the public URL is where this serves on loopback."""
    if os.environ.get(f"{PREFIX}PUBLIC_URL"):
        return load_settings()
    if not is_loopback(host):
        raise SettingsRefused(
            [
                (
                    f"RESTANTE_PUBLIC_URL is not set, and --host {host} lets others in: "
                    "set it to the https address that they use."
                )
            ]
        )
    name = f"[{host}]" if ":" in host else host
    return load_settings(public_url=f"http://{name}" + (f":{port}" if port != 80 else ""))


def start(
    host: str,
    port: int,
    *,
    workers: int | None,
    demo: bool,
    migrations: Path,
    worded: Callable[[dict[str, Any], str], str],
) -> None:
    """Check, prepare and serve until a signal. `worded`: what is printed once it answers.

    It makes it of what a program and what a person is to be told.
    """
    settings = settings_for(host, port)
    told: dict[str, Any] = {"url": settings.public_url}
    text = f"Restante serves on {settings.public_url}"
    if settings.embedded:
        make_database_file(settings.database_file)
        lock_for_serving(settings.database_file)  # goes with the descriptor through exec and fork
    require_free(host, port)
    engine = make_engine(settings.database_url, busy_seconds=10)
    try:
        server = examine(engine)
        server.require()
        told |= {"database": server.name, "database_url": settings.database_shown}
        log.info("database url=%s server=%s", settings.database_shown, server.name)
        for finding in server.findings:
            level = logging.WARNING if finding.level is Level.WARNING else logging.INFO
            log.log(level, "database_setting name=%s: %s", finding.subject, finding.sentence)
        if demo and settings.embedded:
            schema.upgrade(engine, migrations)
        schema.check(engine, migrations)
        database = Database(engine)
        here = settings.instance, settings.database_url
        incarnation.check_seen(*here, database.run(incarnation.current))
        incarnation.note_seen(*here, database.run(incarnation.advance))
        database.run(TokenKeys(settings.public_url, settings.secret_keys).check)
        if demo and settings.embedded:
            made = make_demo(database, settings.instance, settings.public_url)
            if made is not None:
                link = demo_link(database, settings.public_url)
                told["demo"] = {
                    "agent": str(made.agent_file),
                    "producer": str(made.producer_file),
                    "sign_in": link,
                }
                program = Path(sys.executable).with_name("restante-agent")
                text = what_to_do(made, settings.public_url, program, link=link)
        elif demo:
            log.warning(
                "demo_skipped: RESTANTE_DATABASE_URL is set, and a demo tenant is for SQLite"
            )
    finally:
        engine.dispose()
    from workers.web import serve  # noqa: PLC0415 - what a refusal above need not load

    serve(settings, host=host, port=port, workers=workers, news=worded(told, text))
