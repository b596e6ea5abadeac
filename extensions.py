"""What Flask is extended with. The engine knows none of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Flask, current_app
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Engine

from config import Settings
from restante.identity.authority import Authority
from restante.identity.token_keys import TokenKeys
from restante.storage.engine import make_engine
from restante.storage.tables import metadata
from restante.storage.transaction import Database

_SLOTS = "RESTANTE_DATABASE_SLOTS"


class _SQLAlchemy(SQLAlchemy):
    """Flask-SQLAlchemy on the engine's metadata, with the engine's own connections."""

    def _make_engine(self, bind_key: str | None, options: dict[str, Any], app: Flask) -> Engine:
        return make_engine(app.config["SQLALCHEMY_DATABASE_URI"], slots=app.config[_SLOTS])


db = _SQLAlchemy(metadata=metadata)
migrate = Migrate()


@dataclass(frozen=True, slots=True)
class House:
    """What the blueprints of one application work with."""

    settings: Settings
    database: Database
    token_keys: TokenKeys
    authority: Authority


def install(app: Flask, settings: Settings, info: dict[str, Any] | None = None) -> House:
    """Give the application its database and its identity; `info` goes into every session."""
    app.config["SQLALCHEMY_DATABASE_URI"] = settings.database_url
    app.config[_SLOTS] = settings.database_slots
    db.init_app(app)
    migrate.init_app(app, db)
    with app.app_context():
        database = Database(db.engine, info=info)
    token_keys = TokenKeys(settings.public_url, settings.secret_keys)
    house = House(settings, database, token_keys, Authority(database, token_keys))
    app.extensions["restante"] = house
    return house


def house() -> House:
    """That of the application which handles this request."""
    found: House = current_app.extensions["restante"]
    return found
