"""What Flask is extended with. The engine knows none of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from flask import Flask, current_app
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Engine

from config import Settings
from restante.coordination.rerouting import on_end
from restante.egress.client import Egress
from restante.identity.authority import Authority
from restante.identity.browser_origins import AllowedOrigins
from restante.identity.devices import USER_CODES
from restante.identity.key_rotation import KEY_SCHEDULE, KeySchedule
from restante.identity.known_signers import KnownSigners
from restante.identity.logins import RefreshTokens
from restante.identity.oidc.entrance import Entrance
from restante.identity.oidc.provider import Provider
from restante.identity.rates import Rates
from restante.identity.request_refusals import Refusals
from restante.identity.sealing import derive
from restante.identity.signing_keys import SigningKeys
from restante.identity.token_keys import TokenKeys
from restante.identity.tokens import Claims
from restante.identity.user_codes import UserCodes
from restante.identity.watchers import Watcher
from restante.inbox.ends import ON_END
from restante.inbox.in_flight import HELD, InFlight
from restante.inbox.known_recipients import KNOWN, Known
from restante.inbox.reachability import Reachability
from restante.inbox.rules import RULES, Rules
from restante.observations import ON_OBSERVED, both
from restante.sampling.tally import Tally
from restante.signals.changes import Changes, Watch
from restante.signals.hub import Hub
from restante.signals.presence import Notes
from restante.signals.rings import ON_RING
from restante.signals.streams import Streams
from restante.storage.address import parse_address
from restante.storage.combine import Combiner, Kind
from restante.storage.engine import make_engine
from restante.storage.page_token import PAGE_TOKEN_KEYS
from restante.storage.tables import metadata
from restante.storage.transaction import Database
from restante.webhooks.challenger import Challenger
from restante.webhooks.sealed import Secrets
from workers.egress import make_egress
from workers.metrics import Metrics
from workers.spans import make_spans

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_URL = "RESTANTE_DATABASE_URL"
_SLOTS = "RESTANTE_DATABASE_SLOTS"
MOST_WATCHES = 500
"""Streams of operators in one process: one a browser."""


class _SQLAlchemy(SQLAlchemy):
    """Flask-SQLAlchemy on the engine's metadata, with the engine's own connections."""

    def _make_engine(self, bind_key: str | None, options: dict[str, Any], app: Flask) -> Engine:
        return make_engine(app.config[_URL], slots=app.config[_SLOTS])


db = _SQLAlchemy(metadata=metadata)
migrate = Migrate()


@dataclass(frozen=True, slots=True)
class House:
    """What the blueprints of one application work with."""

    settings: Settings
    database: Database
    token_keys: TokenKeys
    refresh_tokens: RefreshTokens
    authority: Authority
    signing_keys: SigningKeys
    signers: KnownSigners
    origins: AllowedOrigins
    rates: Rates
    refusals: Refusals
    hub: Hub
    streams: Streams[Claims]
    watches: Streams[Watcher]
    changes: Changes
    notes: Notes
    reachability: Reachability
    metrics: Metrics
    tally: Tally
    combiners: Mapping[Kind, Combiner]
    entrance: Entrance | None
    challenger: Challenger
    spans: TracerProvider | None


def install(app: Flask, settings: Settings) -> House:
    """Give the application its database, its doorbell and its identity."""
    app.config[_URL] = settings.database_url
    # what it looks at itself names one host
    app.config["SQLALCHEMY_DATABASE_URI"] = parse_address(settings.database_url).url
    app.config[_SLOTS] = settings.database_slots
    db.init_app(app)
    migrate.init_app(app, db)
    hub, metrics, tally = Hub(), Metrics(), Tally()
    info = {
        RULES: rules_of(settings),
        PAGE_TOKEN_KEYS: [derive(key, "page tokens") for key in settings.secret_keys],
        USER_CODES: UserCodes(settings.secret_keys),
        KEY_SCHEDULE: key_schedule(settings),
        HELD: InFlight(),
        KNOWN: Known(),
        ON_RING: hub.ring_many,
        ON_END: on_end,
        ON_OBSERVED: both(metrics.observe, tally.observe),
    }
    with app.app_context():
        database = Database(db.engine, info=info)
    token_keys = TokenKeys(settings.public_url, settings.secret_keys)
    signing_keys = SigningKeys(settings.secret_keys)
    egress = make_egress(settings)
    house = House(
        settings=settings,
        database=database,
        token_keys=token_keys,
        refresh_tokens=RefreshTokens(settings.secret_keys),
        authority=Authority(database, token_keys),
        signing_keys=signing_keys,
        signers=KnownSigners(database, signing_keys),
        origins=AllowedOrigins(database),
        rates=Rates(settings.rate_limit_per_second),
        refusals=Refusals(database),
        hub=hub,
        streams=Streams(
            hub, limit=settings.max_streams, heartbeat_seconds=settings.heartbeat_seconds
        ),
        watches=Streams(
            hub,
            limit=MOST_WATCHES,
            heartbeat_seconds=settings.heartbeat_seconds,
            make=Watch,
            apart=True,
        ),
        changes=Changes(),
        notes=Notes(),
        reachability=Reachability(),
        metrics=metrics,
        tally=tally,
        combiners={kind: Combiner(database) for kind in Kind},
        entrance=_entrance(settings, database, egress),
        challenger=Challenger(database, egress, Secrets(settings.secret_keys)),
        spans=make_spans(os.environ),
    )
    app.extensions["restante"] = house
    return house


def key_schedule(settings: Settings) -> KeySchedule:
    """How often the server's keys rotate, and what new ones are sealed with."""
    return KeySchedule(settings.secret_keys, timedelta(days=settings.key_rotation_days))


def _entrance(settings: Settings, database: Database, egress: Egress) -> Entrance | None:
    """Where operators come in through an identity provider, if one is configured."""
    configured = settings.oidc
    if configured is None:
        return None
    return Entrance(database, Provider(configured, egress), settings.secret_keys)


def rules_of(settings: Settings) -> Rules:
    """What the settings say about the engine."""
    return Rules(
        lease_seconds=settings.lease_seconds,
        max_attempts=settings.max_attempts,
        max_releases=settings.max_releases,
        max_pending=settings.max_pending,
        max_in_flight=settings.max_in_flight,
        max_payload_bytes=settings.payload_limit_bytes,
        retention_seconds=settings.retention_days * 86_400,
        retention_keeps_unsettled=settings.retention_unsettled == "keep",
    )


def house() -> House:
    """That of the application which handles this request."""
    found: House = current_app.extensions["restante"]
    return found
