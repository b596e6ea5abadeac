"""The walk over the URL map at a real server, on SQLite and a server: tokens that must not be taken.

All kinds of them, and what they leave behind, are in tests/http/test_walk_*.py, in process.
"""

from __future__ import annotations

import json
from typing import Any

from flask import Flask
from joserfc.jwk import OKPKey

from app import create_app
from config import Settings
from tests.attacks.arena import Attacker
from tests.attacks.wire import Answer, bearer
from tests.http.walk import Ids, Route, routes
from tests.support.serving import SECRET_KEY

VERBS = ("read", "claim", "publish", "memory", "callback")


def application(tmp_path: Any) -> Flask:
    """That of the server, for its URL map."""
    return create_app(Settings(database_url=f"sqlite:///{tmp_path}/n.db", secret_key=SECRET_KEY))


def send(route: Route, who: Attacker, token: str | None, ids: Ids) -> Answer:
    """The answer to the route's call with that token."""
    fields = [*route.good.headers.items()]
    if token is not None:
        fields += bearer(token).items()
    body = None
    if route.good.body is not None:
        fields.append(("Content-Type", "application/json"))
        body = json.dumps(route.good.body(ids)).encode()
    return who.wire.send(route.method, route.good.path(route.rule, ids), fields, body)


def test_at_a_server_every_route_holds_too(alice: Attacker, tmp_path: Any) -> None:
    """Without a token, with bad ones, and with a good one at another tenant's addresses."""
    rival = alice.arena.tenant("main").agent(*(f"agent:main:{verb}" for verb in VERBS))
    ours = alice.tenant.agent(*(f"agent:a:{verb}" for verb in VERBS)).signed_in(
        " ".join(f"agent:a:{verb}" for verb in VERBS)
    )
    bad = {
        "none": None,
        "rubbish": "rubbish",
        "of another server": ours.forged(key=OKPKey.generate_key("Ed25519")),
        "over": ours.bent(iat=alice.arena.now() - 900, exp=alice.arena.now() - 300),
        "for another": ours.bent(aud="https://other.example"),
        "typ": ours.with_header(typ="JWT"),
    }
    absent, theirs = Ids(), Ids(agent_id=rival.id)
    walked = routes(application(tmp_path))
    for route in walked:
        for kind, token in bad.items():
            answer = send(route, ours, token, theirs)
            assert answer.problem == "401 unauthenticated", (str(route), kind)
            assert answer.is_invalid_token == (token is not None), (str(route), kind)
        if route.access.own:
            foreign, nobodys = (send(route, ours, ours.token, ids) for ids in (theirs, absent))
            assert foreign.problem == nobodys.problem == "404 not-found", str(route)
            assert foreign.without(rival.id) == nobodys.without(absent.agent_id), str(route)
        elif route.administers:
            assert send(route, ours, ours.token, absent).problem == "403 insufficient-scope"
    assert len(walked) > 70
