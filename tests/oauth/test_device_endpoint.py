"""A device logs in over HTTP, refreshes, and gives its tokens back. Numbers: the attack cases (JO-…)."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from werkzeug.test import TestResponse

from restante.identity.device_logins import ANY_AGENT
from restante.identity.token_refusals import MOST_BAD_GRANTS, MOST_DEVICES
from restante.storage.tables.audit import audit_entry
from tests.oauth.conftest import ISSUER, Server, basic, public_id
from tests.oauth.logging_in import Login

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


def post(server: Server, path: str, **form: str) -> TestResponse:
    return server.client.post(f"/oauth/{path}", data=form)


def begin(login: Login, client: str | None = None, **form: str) -> TestResponse:
    named = client or public_id(login.bob)
    return post(login.server, "device_authorization", client_id=named, **form)


def poll(login: Login, code: str, client: str | None = None) -> TestResponse:
    named = client or public_id(login.bob)
    return post(login.server, "token", grant_type=DEVICE, device_code=code, client_id=named)


def refresh(login: Login, token: str, client: str | None = None, **form: str) -> TestResponse:
    named = client or public_id(login.bob)
    return post(
        login.server,
        "token",
        grant_type="refresh_token",
        refresh_token=token,
        client_id=named,
        **form,
    )


def log_in(login: Login, client: str | None = None, **form: str) -> TestResponse:
    begun = begin(login, client, **form).json
    assert login.approve(begun["user_code"], principal_id=login.bob.id)
    answer = poll(login, begun["device_code"], client)
    assert answer.status_code == 200, answer.text
    return answer


def error(answer: TestResponse) -> tuple[int, str]:
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.mimetype == "application/json"
    return answer.status_code, str(answer.json["error"])


def audited(login: Login, action: str) -> list[tuple[str, str | None, str | None, str]]:
    """(actor's kind, his id, target, reason), in order."""
    wanted = select(
        audit_entry.c.actor_kind,
        audit_entry.c.actor_id,
        audit_entry.c.target,
        audit_entry.c.reason,
    ).where(audit_entry.c.action == action)
    rows = login.run(lambda s: s.connection().execute(wanted.order_by(audit_entry.c.at)).all())
    return [tuple(row) for row in rows]


def test_a_device_gets_codes_waits_and_is_let_in(login: Login) -> None:
    """JO-074, JO-075, JO-078."""
    answer = begin(login, host="shed", scope="agent:p1:read")
    begun = answer.json
    assert answer.headers["Cache-Control"] == "no-store"
    assert begun == {
        "device_code": begun["device_code"],
        "user_code": begun["user_code"],
        "verification_uri": f"{ISSUER}/device",
        "verification_uri_complete": f"{ISSUER}/device?user_code={begun['user_code']}",
        "expires_in": 600,
        "interval": 5,
    }
    assert error(poll(login, begun["device_code"])) == (400, "authorization_pending")
    login.pass_time(1)
    assert error(poll(login, begun["device_code"])) == (400, "slow_down")
    login.pass_time(6)
    assert error(poll(login, begun["device_code"])) == (400, "slow_down")
    login.pass_time(16)
    assert error(poll(login, begun["device_code"])) == (400, "authorization_pending")
    found = login.approve(begun["user_code"])
    assert (found.host, found.asked_scopes) == ("shed", "agent:p1:read")
    login.pass_time(16)
    let_in = poll(login, begun["device_code"])
    assert let_in.status_code == 200
    assert let_in.json.keys() == {
        *("access_token", "token_type", "expires_in", "scope", "refresh_token")
    }
    assert let_in.json["scope"] == "agent:p1:read"
    assert login.server.call(let_in.json["access_token"]).json["id"] == public_id(login.bob)
    assert error(poll(login, begun["device_code"])) == (400, "invalid_grant")


def test_what_an_operator_refuses_or_lets_lie(login: Login) -> None:
    """JO-076, JO-077, JO-079, JO-083."""
    code = begin(login).json["device_code"]
    eve = login.tenant.agent("eve")
    assert error(poll(login, code, public_id(eve))) == (400, "invalid_grant")
    assert error(poll(login, code, ANY_AGENT)) == (400, "invalid_grant")
    assert error(poll(login, "rstd_nothing")) == (400, "invalid_grant")
    assert error(poll(login, code)) == (400, "authorization_pending")
    login.pass_time(601)
    assert error(poll(login, code)) == (400, "expired_token")
    assert [entry[:2] for entry in audited(login, "token.refuse")] == [
        ("client", public_id(eve)),
        ("client", ANY_AGENT),
        ("client", public_id(login.bob)),
    ]


@pytest.mark.parametrize(
    "named", ["agt_" + "0" * 32, "nobody", "svc_" + "0" * 32, "agt_\u00e9", "restante-agents"]
)
def test_no_codes_for_a_client_that_there_is_not(login: Login, named: str) -> None:
    answer = begin(login, named)
    assert error(answer) == (401, "invalid_client")
    assert error(post(login.server, "device_authorization", host="x")) == (401, "invalid_client")


def test_no_codes_for_scopes_that_no_agent_can_have(login: Login) -> None:
    for scope in ("agent:*:read", "tenant:audit:read", "\x00", "x" * 300):
        assert error(begin(login, scope=scope)) == (400, "invalid_scope")


def test_refresh_tokens_rotate_and_a_stolen_one_ends_the_login(login: Login) -> None:
    """JO-065, JO-066."""
    server = login.server
    first = log_in(login, ANY_AGENT).json
    second = refresh(login, first["refresh_token"], ANY_AGENT).json
    third = refresh(login, second["refresh_token"], ANY_AGENT).json
    assert server.call(third["access_token"]).status_code == 200
    assert error(refresh(login, first["refresh_token"], ANY_AGENT)) == (400, "invalid_grant")
    assert error(refresh(login, third["refresh_token"], ANY_AGENT)) == (400, "invalid_grant")
    server.pass_time(0.5)
    for dead in (first, second, third):
        assert server.call(dead["access_token"]).status_code == 401
    bob = public_id(login.bob)
    assert audited(login, "refresh.reuse") == [("client", ANY_AGENT, bob, "a spent token")]
    assert [entry[2] for entry in audited(login, "token.refuse")] == [bob]


def test_a_refresh_by_another_client_or_for_more(login: Login) -> None:
    """JO-068, JO-069, JO-070."""
    first = log_in(login).json["refresh_token"]
    more = refresh(login, first, scope="agent:p1:read agent:p1:publish")
    assert error(more) == (400, "invalid_scope")
    narrow = refresh(login, first, scope="agent:p1:read").json
    assert narrow["scope"] == "agent:p1:read"
    wide = refresh(login, narrow["refresh_token"]).json
    assert wide["scope"] == "agent:p1:claim agent:p1:read"
    eve = login.tenant.agent("eve")
    assert error(refresh(login, wide["refresh_token"], public_id(eve))) == (400, "invalid_grant")
    assert error(refresh(login, wide["refresh_token"])) == (400, "invalid_grant")


def test_a_client_that_proves_itself_may_use_its_login_too(login: Login) -> None:
    """A proof that is brought has to hold, even where none is needed."""
    token = log_in(login).json["refresh_token"]
    form = {"grant_type": "refresh_token", "refresh_token": token}
    for secret, status in (("wrong", 401), (login.bob.client_secret, 200)):
        fields = {"Authorization": basic(public_id(login.bob), secret)}
        answer = login.server.client.post("/oauth/token", data=form, headers=fields)
        assert answer.status_code == status, answer.text


def test_a_public_client_gets_nothing_for_its_name(login: Login) -> None:
    """JO-060."""
    for named in (public_id(login.bob), ANY_AGENT):
        answer = post(login.server, "token", grant_type="client_credentials", client_id=named)
        assert error(answer) == (401, "invalid_client")


def test_those_who_guess_are_told_to_wait_and_others_go_on(login: Login) -> None:
    token = log_in(login).json["refresh_token"]
    for _ in range(MOST_BAD_GRANTS):
        assert error(refresh(login, "rstr_guess")) == (400, "invalid_grant")
    answer = refresh(login, token)
    assert error(answer) == (429, "temporarily_unavailable")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    form = {"grant_type": "refresh_token", "refresh_token": token}
    form["client_id"] = public_id(login.bob)
    elsewhere = {"REMOTE_ADDR": "192.0.2.7"}
    answer = login.server.client.post("/oauth/token", data=form, environ_base=elsewhere)
    assert answer.status_code == 200


def test_so_many_devices_begin_in_a_minute(login: Login) -> None:
    for _ in range(MOST_DEVICES):
        assert begin(login).status_code == 200
    assert error(begin(login)) == (429, "temporarily_unavailable")
    login.pass_time(61)
    assert begin(login).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"},
        {"Host": "["},
    ],
)
def test_the_host_that_is_asked_for_changes_nothing(login: Login, headers: dict[str, str]) -> None:
    """JO-102: behind a proxy that ends TLS, Host and scheme are not the caller's."""
    form = {"client_id": public_id(login.bob)}
    answer = login.server.client.post("/oauth/device_authorization", data=form, headers=headers)
    assert answer.status_code in (200, 400)
    assert "evil" not in answer.text
    form = {"grant_type": "client_credentials"}
    secret = {"Authorization": basic(public_id(login.bob), login.bob.client_secret)}
    answer = login.server.client.post("/oauth/token", data=form, headers=headers | secret)
    assert answer.status_code in (200, 400), answer.text
