"""The secret key is changed as docs/keys.md says, under everything that stands on it."""

from __future__ import annotations

import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import update

from restante.identity.logins import Approved, begin_family
from restante.identity.scopes import parse_scope
from restante.identity.tenants import find_tenant
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.identity import token_key
from restante.storage.transaction import Database
from tests.acceptance.conftest import upgraded
from tests.acceptance.stage import call, token_of
from tests.http.signing import Signer
from tests.http.test_signed_served import Caller
from tests.support.serving import SECRET_KEY, RestanteCommand, Served

NEWER_KEY = "another-secret-key-for-tests-that-is-long"
SCOPE = "agent:main:read"


def post_form(url: str, **form: str) -> tuple[int, dict[str, Any]]:
    """Status and JSON of what a public client is answered."""
    request = urllib.request.Request(url, urllib.parse.urlencode(form).encode())
    try:
        with urllib.request.urlopen(request, timeout=40) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


class Browser:
    """An operator's, signed in by his invitation."""

    def __init__(self, url: str, link: str) -> None:
        self._url = url
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(cookies)
        text = self._opener.open(link, timeout=40).read().decode()
        csrf = re.search(r'name="csrf" value="([0-9a-f]+)"', text)
        assert csrf
        self._opener.open(link, urllib.parse.urlencode({"csrf": csrf[1]}).encode(), timeout=40)

    def is_signed_in(self) -> bool:
        text = self._opener.open(f"{self._url}/account", timeout=40).read().decode()
        return "ops@example.com" in text


@dataclass
class House:
    """A served tenant that wants signatures, and who stands on its secret key."""

    served: Served
    database: Database
    agent: dict[str, Any]
    caller: Caller = field(init=False)
    signers: list[Signer] = field(init=False)
    browser: Browser = field(init=False)
    refresh_token: str = field(init=False)

    def __post_init__(self) -> None:
        self.caller = Caller(self.served.url, self.agent)
        self.signers = []
        self.mint()
        invited = ("operator", "invite", "--tenant", "acme", "--email", "ops@example.com")
        link = self.served.command.json(*invited, "--role", "operator")["url"]
        self.browser = Browser(self.served.url, link)
        self.refresh_token = self._log_in()

    def _log_in(self) -> str:
        agent_id = decode_id(Prefix.AGENT, self.agent["agent_id"]) or b""
        scope = parse_scope(SCOPE)
        assert scope is not None

        def work(session: Any) -> str:
            tenant_id = find_tenant(session, "acme").id
            login = Approved(agent_id, tenant_id, self.agent["client_id"], [scope])
            return begin_family(session, login, now=database_now(session))[1]

        return self.database.run(work)

    def mint(self) -> None:
        """Another signing key, with a token as new as that needs."""
        self.signers.append(Caller(self.served.url, self.agent).mint())

    def refresh(self) -> None:
        told = {"grant_type": "refresh_token", "client_id": self.agent["client_id"]}
        address = f"{self.served.url}/oauth/token"
        status, answer = post_form(address, **told, refresh_token=self.refresh_token)
        assert status == 200, answer
        self.refresh_token = answer["refresh_token"]

    def serve_with(self, key: str, previous: str = "") -> None:
        """End it and start it again with these secret keys; everybody else stays as he is."""
        keys = {"RESTANTE_SECRET_KEY": key, "RESTANTE_SECRET_KEY_PREVIOUS": previous}
        self.served.settings |= keys
        self.served.restart()

    def check(self) -> None:
        """Whatever was given out before is good: tokens, signing keys, sessions, logins."""
        for signer in self.signers:
            assert self.caller.signed(signer, "GET", "/inbox/stats")[0] == 200
        assert self.browser.is_signed_in()
        self.refresh()
        kids = {key["kid"] for key in call(f"{self.served.url}/oauth/jwks.json")[1]["keys"]}
        token = token_of(self.served.url, self.agent)
        assert len(kids) == 1
        stats = f"{self.served.url}{self.caller.base}/inbox/stats"
        assert call(stats, token)[0] == 200
        assert call(stats, self.caller.token)[0] == 200


@pytest.fixture
def house(serve: Callable[..., Served], migrated_database_url: str, backend: str) -> House:
    database = upgraded(migrated_database_url)
    command = RestanteCommand(migrated_database_url)
    tenant = command.json("tenant", "create", "acme")["tenant_id"]
    command.create_project(tenant, "main")
    agent = command.create_agent(tenant, "alice", grants=(SCOPE, "agent:main:claim"))
    served = serve(migrated_database_url, workers=1 if backend == "sqlite" else 2)
    return House(served, database, agent)


def rotate(house: House) -> dict[str, Any]:
    told = house.served.command.json("secrets", "rotate")
    return {name: told[name] for name in ("ok", "resealed", "already")}


@pytest.mark.timeout(300)
def test_step_by_step(house: House) -> None:
    house.check()
    # both open, the new one seals
    house.serve_with(NEWER_KEY, SECRET_KEY)
    house.check()
    house.mint()
    assert rotate(house) == {"ok": True, "resealed": 2, "already": 1}
    assert rotate(house) == {"ok": True, "resealed": 0, "already": 3}
    house.check()
    # what is left needs the new one alone
    house.serve_with(NEWER_KEY)
    house.check()
    assert rotate(house) == {"ok": True, "resealed": 0, "already": 3}
    house.database.engine.dispose()


@pytest.mark.timeout(300)
def test_the_old_key_taken_away_too_early_is_said_at_the_start(house: House) -> None:
    """Nothing is lost: with the old key as the previous one it serves again."""
    assert house.served.stop() == 0
    early = RestanteCommand(
        house.served.database_url,
        settings={**house.served.settings, "RESTANTE_SECRET_KEY": NEWER_KEY},
    )
    refused = early.run("serve", "--port", str(house.served.port))
    assert refused.returncode == 1
    assert "RESTANTE_SECRET_KEY_PREVIOUS" in refused.stderr
    told = early.run("secrets", "rotate", "--json")
    assert told.returncode == 1
    columns = json.loads(told.stdout)["columns"]
    assert columns["signing_key.secret_sealed"]["unopened"] == [house.signers[0].key_id]
    assert len(columns["token_key.private_sealed"]["unopened"]) == 1
    words = early.run("secrets", "rotate")
    assert f"No secret key opens signing_key.secret_sealed of {house.signers[0].key_id}" in (
        words.stdout
    )
    assert NEWER_KEY not in words.stdout + words.stderr
    # keys that no server could open are not made either
    keys = early.run("keys", "rotate")
    assert keys.returncode == 1
    assert "RESTANTE_SECRET_KEY_PREVIOUS" in keys.stderr
    house.serve_with(NEWER_KEY, SECRET_KEY)
    house.check()
    house.database.engine.dispose()


def test_maintenance_rotates_a_key_that_has_grown_old(migrated_database_url: str) -> None:
    database = upgraded(migrated_database_url)
    command = RestanteCommand(migrated_database_url)
    (first,) = command.json("keys", "rotate")["made"]
    aged = update(token_key).values(created_at=database.run(database_now) - timedelta(days=35))
    database.run(lambda s: s.connection().execute(aged))
    database.engine.dispose()
    command.environment["RESTANTE_KEY_ROTATION_DAYS"] = "40"
    assert command.json("maintain", "--once")["key_rotation"] == {"made": 0}
    del command.environment["RESTANTE_KEY_ROTATION_DAYS"]
    assert command.json("maintain", "--once")["key_rotation"] == {"made": 1}
    assert command.json("maintain", "--once")["key_rotation"] == {"made": 0}
    told = command.text("keys", "rotate", f"--emergency={first}")
    assert told.startswith(f"{first} is removed")
    refused = command.run("keys", "rotate", "--emergency", "-none", "--json")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "There is no key -none; there are: " in refused.stderr
    assert command.json("audit", "verify")["entries"] == 3
