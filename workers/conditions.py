"""What does not go together of a host, its settings and its database, though each would do by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from urllib.parse import urlsplit

from config import Settings, is_loopback
from restante.egress.allowance import parse_allowance
from restante.storage.finding import Finding, Level
from workers.run_folder import RunFolderRefused, run_folder
from workers.spans import can_be_had, wanted

CALLS = 1_000
SERVICES_SLOTS = 8
USUAL_PATIENCE_SECONDS = 60
LAG_SECONDS = 30.0
_NO_RIGHT = "GRANT USAGE ON "


def of_settings(settings: Settings) -> Iterator[Finding]:
    """What an operator has said that he can hardly mean."""
    url = urlsplit(settings.public_url)
    if url.scheme == "https" and not settings.trusted_proxies:
        yield _warning(
            "trusted_proxies",
            "RESTANTE_PUBLIC_URL is https, which a proxy speaks for this server, and "
            "RESTANTE_TRUSTED_PROXIES is 0: every caller has the proxy's address, in the audit and "
            "for what is limited by address. Set it to the number of proxies that set X-Forwarded-*.",
        )
    if is_loopback(url.hostname or "") and url.scheme == "http" and settings.trusted_proxies:
        yield _warning(
            "trusted_proxies",
            f"RESTANTE_TRUSTED_PROXIES is {settings.trusted_proxies}, and RESTANTE_PUBLIC_URL is on "
            "loopback, where no proxy is: who calls directly can claim any address. Remove the one, "
            "or set the other.",
        )
    if settings.heartbeat_seconds >= USUAL_PATIENCE_SECONDS:
        yield _warning(
            "heartbeat_seconds",
            f"RESTANTE_HEARTBEAT_SECONDS is {settings.heartbeat_seconds:g}: most proxies end a stream after "
            f"{USUAL_PATIENCE_SECONDS} s of silence, and withdrawn access ends a stream at its heartbeat. "
            "Take 30.",
        )
    wide = [
        str(network)
        for network in parse_allowance(settings.egress_allow).networks
        if network.prefixlen == 0
    ]
    if wide:
        yield _warning(
            "egress_allow",
            f"RESTANTE_EGRESS_ALLOW has {', '.join(wide)}, which lets tenants have every address of your "
            "networks called. Name the networks, or host:port, that are meant.",
        )

    if not is_loopback(url.hostname or "") and not settings.egress_own:
        yield Finding(
            Level.NOTE,
            "egress_own",
            f"RESTANTE_EGRESS_OWN is empty, so of this installation only {url.hostname} is known not to be "
            "called: put the public addresses of your servers there.",
        )


def of_host(settings: Settings, environ: Mapping[str, str], *, files: int) -> Iterator[Finding]:
    """What the machine lacks. `files`: how many a process may have open, -1 for any number."""
    if 0 <= files < settings.max_streams + CALLS:
        yield _warning(
            "open_files",
            f"A process may open {files} files, and RESTANTE_MAX_STREAMS is {settings.max_streams}: "
            f"it will take fewer streams. Raise the limit to {settings.max_streams + CALLS} "
            "(systemd: LimitNOFILE=; docker: --ulimit nofile=), or lower the setting.",
        )
    if wanted(environ) and not can_be_had():
        yield _warning(
            "tracing",
            "A collector of traces is named (OTEL_EXPORTER_OTLP_ENDPOINT), and what sends them is "
            "not installed: pip install 'restante[otel]', or remove the variable.",
        )
    try:
        run_folder(settings.database_url)
    except RunFolderRefused as error:
        yield Finding(Level.REFUSED, "run_folder", str(error))


def of_connections(settings: Settings, most: int) -> Iterator[Finding]:
    """`most`: how many connections the database server gives."""
    needed = 2 * (settings.database_slots + SERVICES_SLOTS)
    if needed > most:
        yield _warning(
            "max_connections",
            f"The database gives {most} connections, and two processes of `serve` here may want {needed}: "
            "others are refused, and calls answered 503. Raise its max_connections, or lower "
            "RESTANTE_DATABASE_SLOTS.",
        )


def of_rights(grants: Iterable[str]) -> Iterator[Finding]:
    """`grants`: what the database server says the user of RESTANTE_DATABASE_URL may do."""
    wide = [grant for grant in grants if " ON *.* TO " in grant and not grant.startswith(_NO_RIGHT)]
    if wide:
        yield Finding(
            Level.NOTE,
            "database_user",
            "The user of RESTANTE_DATABASE_URL has rights on every database of its server: give it "
            "one of its own, with GRANT ALL ON this database alone.",
        )


def of_embedded(agents: int, pending: float) -> Iterator[Finding]:
    """How much there is on SQLite; `pending`: events, by the last sample."""
    if agents > 50 or pending > 100_000:
        yield _warning(
            "sqlite_size",
            f"SQLite has {agents} agents and {pending:.0f} pending events, and is meant for up to 50 "
            "and 100,000: calls will wait for each other. `restante db copy --to` takes all of it "
            "to MySQL or MariaDB.",
        )


def of_maintenance(settings: Settings, due_at: datetime | None, now: datetime) -> Iterator[Finding]:
    """`due_at`: when the oldest timer should have run."""
    lag = 0.0 if due_at is None else (now - due_at).total_seconds()
    if lag > LAG_SECONDS:
        off = settings.maintenance == "off"
        remedy = (
            "RESTANTE_MAINTENANCE is off here: start `restante maintain`."
            if off
            else "Start `restante serve` or `restante maintain`, and see what their lines say."
        )
        yield _warning(
            "maintenance",
            f"A timer has been due for {lag:.0f} s, and nothing has run it: mail that is due is not rung "
            f"for. {remedy}",
        )


def _warning(subject: str, sentence: str) -> Finding:
    return Finding(Level.WARNING, subject, sentence)
