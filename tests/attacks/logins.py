"""Logins of devices over the wire, and what time does to them."""

from __future__ import annotations

from typing import Any

from restante.identity.logins import hash_of
from restante.storage.tables.logins import device_authorization as device
from restante.storage.tables.logins import refresh_family
from tests.attacks.arena import Attacker
from tests.attacks.operators import new_operator
from tests.attacks.wire import Answer

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


def begin(who: Attacker, client: str | None = None, **form: str) -> dict[str, Any]:
    """The codes of a device that asks to be let in as this agent."""
    answer = who.wire.form("/oauth/device_authorization", client_id=client or who.id, **form)
    assert answer.status == 200, answer.body
    return dict(answer.json)


def poll(who: Attacker, code: str, client: str | None = None) -> Answer:
    return who.wire.form(
        "/oauth/token", grant_type=DEVICE, device_code=code, client_id=client or who.id
    )


def refresh(who: Attacker, token: str, client: str | None = None, **form: str) -> Answer:
    return who.wire.form(
        "/oauth/token",
        grant_type="refresh_token",
        refresh_token=token,
        client_id=client or who.id,
        **form,
    )


def log_in(who: Attacker, client: str | None = None, **form: str) -> dict[str, Any]:
    """What an approved device got."""
    begun = begin(who, client, **form)
    approved = new_operator(who.tenant).approve(begun["user_code"], agent=who.id)
    assert approved.status == 200, approved.body
    answer = poll(who, begun["device_code"], client)
    assert answer.status == 200, answer.body
    return dict(answer.json)


def change_device(who: Attacker, code: str, **values: Any) -> None:
    """As time would."""
    own = device.c.device_code_hash == hash_of(code)
    who.arena.change(device.update().where(own).values(**values))


def change_login(who: Attacker, **values: Any) -> None:
    """All logins of the agent, as time would."""
    own = refresh_family.c.principal_id == who.raw
    who.arena.change(refresh_family.update().where(own).values(**values))
