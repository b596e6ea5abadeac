"""JO-104: who keeps the key set for as long as we say verifies every token, before and after a rotation."""

from __future__ import annotations

import re

from restante.audit.entries import IN_PROCESS
from restante.identity.key_rotation import rotate
from restante.identity.recent import STATE_SECONDS
from restante.identity.server_keys import PUBLISHED_BEFORE
from tests.factories import pass_time
from tests.oauth.conftest import Server
from tests.oauth.forging import header_of
from tests.support.serving import SECRET_KEY


def key_set(server: Server) -> tuple[set[str], float]:
    """The ids of the keys, and for how many seconds they may be kept."""
    answer = server.client.get("/oauth/jwks.json")
    age = re.search(r"max-age=(\d+)", answer.headers["Cache-Control"])
    assert age
    return {key["kid"] for key in answer.json["keys"]}, float(age[1])


def wait(server: Server, seconds: float) -> None:
    pass_time(server.house.database, seconds)
    server.pass_time(seconds + STATE_SECONDS)


def test_a_cached_key_set_verifies_what_is_signed_while_it_may_be_kept(server: Server) -> None:
    tenant = server.tenant()
    tenant.project("p1")
    bob = tenant.agent("bob", "agent:p1:read")
    old = server.token(bob)
    cached, age = key_set(server)
    assert age < PUBLISHED_BEFORE.total_seconds()
    (new,) = server.database.run(lambda s: rotate(s, [SECRET_KEY], by=IN_PROCESS)).made
    wait(server, age)
    last = server.token(bob)
    assert header_of(last)["kid"] in cached
    assert server.call(old).status_code == server.call(last).status_code == 200
    # whoever looks again finds both, and what the new one signs from now on
    assert key_set(server)[0] == cached | {new}
    wait(server, PUBLISHED_BEFORE.total_seconds() - age)
    newer = server.token(bob)
    assert header_of(newer)["kid"] == new
    assert server.call(last).status_code == server.call(newer).status_code == 200
    # until the last of the old ones has expired
    wait(server, 500)
    assert server.call(last).status_code == 200
    assert key_set(server)[0] == cached | {new}
    wait(server, 500)
    assert server.call(last).status_code == 401
    assert key_set(server)[0] == {new}
