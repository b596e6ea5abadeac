"""`restante keys` and `restante secrets`: the keys that the server signs with, and what seals them."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from command_line import as_json, by_command, database, refusing, say
from config import load_settings
from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.identity.key_rotation import Rotated, remove, rotate
from restante.identity.resealing import SEALED, SealedColumn, reseal_some
from restante.identity.server_keys import ServerKey
from restante.storage.transaction import Database


@click.group()
def keys() -> None:
    """The keys that sign access tokens and webhooks."""


@keys.command("rotate")
@click.option("--emergency", metavar="KID", help="Remove this key at once, with all it signed.")
@as_json
@refusing
def keys_rotate(emergency: str | None, *, as_json: bool) -> None:
    """Make new keys, which sign in five and a half minutes; old ones verify until it all has ended."""
    secret_keys = load_settings().secret_keys
    with database() as house:
        if emergency is None:
            done = house.run(lambda s: rotate(s, secret_keys, by=by_command()))
        else:
            done = house.run(lambda s: remove(s, emergency, secret_keys, by=by_command()))
    told = [_told(key) for key in done.keys]
    answer = {"made": list(done.made), "removed": [emergency] if emergency else [], "keys": told}
    say(answer, "\n".join(_sentences(done, emergency)), as_json=as_json)


def _told(key: ServerKey) -> dict[str, Any]:
    instants = {
        name: None if at is None else f"{at.isoformat(timespec='microseconds')}Z"
        for name, at in (
            ("created_at", key.created_at),
            ("signs_until", key.signs_until),
            ("verifies_until", key.verifies_until),
        )
    }
    return {"kid": key.kid, "purpose": key.purpose.value, **instants}


def _sentences(done: Rotated, removed: str | None) -> list[str]:
    told = [] if removed is None else [f"{removed} is removed: what it signed is refused."]
    signing: set[str] = set()
    for key in done.keys:
        told_of = f"{key.kid} ({key.purpose})"
        if not key.may_sign(done.now):
            told.append(f"{told_of} verifies until {key.verifies_until} UTC.")
        elif key.purpose in signing:
            told.append(f"{told_of} is published, and signs when those before it have ended.")
        else:
            until = "" if key.signs_until is None else f" until {key.signs_until} UTC"
            told.append(f"{told_of} signs{until}.")
            signing.add(key.purpose)
    return told


@click.group()
def secrets() -> None:
    """What is sealed in the database under RESTANTE_SECRET_KEY."""


@secrets.command("rotate")
@as_json
@click.pass_context
@refusing
def secrets_rotate(context: click.Context, *, as_json: bool) -> None:
    """Seal everything under RESTANTE_SECRET_KEY that RESTANTE_SECRET_KEY_PREVIOUS opens.

    Begun again it goes on where it ended. Exit 1: something is opened by neither of them.
    """
    secret_keys = load_settings().secret_keys
    with database() as house:
        columns = {str(sealed): _resealed(house, sealed, secret_keys) for sealed in SEALED}
        resealed = sum(did["resealed"] for did in columns.values())
        already = sum(did["already"] for did in columns.values())
        unopened = [f"{name} of {row}" for name, did in columns.items() for row in did["unopened"]]
        told = f"resealed {resealed}, unopened {len(unopened)}"
        entry = Entry(None, by_command(), Action.SECRETS_ROTATE, reason=told)
        house.run(lambda s: record(s, entry))
    answer = {"ok": not unopened, "resealed": resealed, "already": already, "columns": columns}
    lines = [
        f"Resealed {resealed}; {already} were under the newest key already.",
        *(f"No secret key opens {what}." for what in unopened),
    ]
    say(answer, "\n".join(lines), as_json=as_json)
    context.exit(1 if unopened else 0)


def _resealed(
    house: Database, sealed: SealedColumn, secret_keys: tuple[str, ...]
) -> dict[str, Any]:
    resealed = already = 0
    unopened: list[str] = []
    after, more = None, True
    while more:
        batch = house.run(partial(reseal_some, sealed=sealed, secret_keys=secret_keys, after=after))
        resealed += batch.resealed
        already += batch.already
        unopened += batch.unopened
        after, more = batch.after, batch.after is not None
    return {"resealed": resealed, "already": already, "unopened": unopened}
