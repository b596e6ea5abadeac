"""POST /oauth/token. Numbers are those of the attack cases on tokens (JO-…)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from restante.errors import Overloaded
from restante.identity.failed_attempts import MOST_FAILURES
from tests.oauth.conftest import Server, basic, public_id

FORM = {"grant_type": "client_credentials"}


def test_a_client_gets_a_token_that_opens_the_api(server: Server) -> None:
    tenant = server.tenant()
    tenant.project("p1")
    bob = tenant.agent("bob", "agent:p1:read", "agent:p1:claim", "agent:p1:publish")
    answer = server.ask(bob)
    assert answer.status_code == 200
    assert answer.json.keys() == {"access_token", "token_type", "expires_in", "scope"}
    assert answer.json["token_type"] == "Bearer"
    assert 0 < answer.json["expires_in"] <= 600
    assert answer.json["scope"] == "agent:p1:claim agent:p1:read"
    assert answer.headers["Cache-Control"] == "no-store"
    assert server.call(answer.json["access_token"]).json == {
        "id": public_id(bob),
        "scopes": ["agent:p1:claim", "agent:p1:read"],
    }


def test_a_service_gets_all_it_has(server: Server) -> None:
    tenant = server.tenant()
    tenant.project("p1")
    producer = tenant.service("producer", "tenant:events:publish", "agent:p1:publish")
    assert server.ask(producer).json["scope"] == "agent:p1:publish tenant:events:publish"


def test_a_grant_of_every_project_means_those_of_this_moment(server: Server) -> None:
    tenant = server.tenant()
    tenant.project("p1")
    bob = tenant.agent("bob", "agent:*:read")
    assert server.ask(bob).json["scope"] == "agent:p1:read"
    tenant.project("p2")
    assert server.ask(bob).json["scope"] == "agent:p1:read agent:p2:read"
    assert server.ask(bob, "agent:p2:read").json["scope"] == "agent:p2:read"


@pytest.mark.parametrize(
    "scope",
    [
        "agent:p1:read agent:p1:admin",
        "agent:p1:read agent:p1:publish",
        "agent:*:read",
        "agent:theirs:read",
        "agent:nothing:read",
        "tenant:events:publish",
        "agent:p1:read  agent:p1:claim",
        "AGENT:p1:read",
        "\x00",
    ],
)
def test_more_than_granted_is_refused_and_never_narrowed(server: Server, scope: str) -> None:
    """JO-061, JO-062."""
    tenant = server.tenant()
    tenant.project("p1")
    server.tenant("other").project("theirs")
    bob = tenant.agent("bob", "agent:*:read", "agent:p1:claim")
    answer = server.ask(bob, scope)
    assert (answer.status_code, answer.json) == (
        400,
        {
            "error": "invalid_scope",
            "error_description": "A scope that was asked for is not granted to this client.",
        },
    )


def test_an_agent_without_grants_gets_no_empty_token(server: Server) -> None:
    """JO-063: what is given unasked is the documented least, or nothing."""
    tenant = server.tenant()
    tenant.project("p1")
    assert server.ask(tenant.agent("mute", "agent:p1:publish")).json["error"] == "invalid_scope"
    assert server.ask(tenant.agent("new")).json["error"] == "invalid_scope"


def test_a_token_holds_at_most_fifty_scopes(server: Server) -> None:
    tenant = server.tenant()
    for number in range(26):
        tenant.project(f"p{number}")
    bob = tenant.agent("bob", "agent:*:read", "agent:*:claim")
    refused = server.ask(bob)
    assert refused.json["error"] == "invalid_scope"
    assert "fewer" in refused.json["error_description"]
    fifty = " ".join(f"agent:p{n}:{verb}" for n in range(25) for verb in ("read", "claim"))
    assert server.ask(bob, fifty).status_code == 200


def test_an_unknown_client_and_a_wrong_secret_answer_alike(server: Server) -> None:
    """JO-055, JO-064."""
    bob = server.tenant().agent("bob")
    unknown = f"agt_{'0' * 32}"
    answers = [
        server.client.post(
            "/oauth/token", data=FORM, headers={"Authorization": basic(*credentials)}
        )
        for credentials in (
            (public_id(bob), "wrong"),
            (unknown, bob.client_secret),
            ("no-id-at-all", "x"),
            (public_id(bob).replace("agt_", "svc_"), bob.client_secret),
        )
    ]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.data for answer in answers}) == 1
    assert answers[0].json["error"] == "invalid_client"
    for answer in answers:
        assert answer.headers["WWW-Authenticate"].startswith("Basic realm=")
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.mimetype == "application/json"


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Basic",
        "Basic ",
        "Basic !!!!",
        "Basic YQ",
        "Basic //79",  # not UTF-8
        "Basic Og==",  # a colon alone
        "Basic YTo=",  # no secret
        "Basic JWZmOiVmZg==",  # %ff:%ff
        "Basic AAAA",
        "Bearer abc",
        "Digest username=x",
        "Basic " + "A" * 8000,
        "\xff\xfe",
    ],
)
def test_rubbish_for_credentials_is_an_unauthenticated_client(
    server: Server, authorization: str
) -> None:
    headers = {"Authorization": authorization} if authorization else {}
    answer = server.client.post("/oauth/token", data=FORM, headers=headers)
    assert (answer.status_code, answer.json["error"]) == (401, "invalid_client")


def test_a_secret_in_the_body_does_not_authenticate(server: Server) -> None:
    bob = server.tenant().agent("bob")
    form = {**FORM, "client_id": public_id(bob), "client_secret": bob.client_secret}
    answer = server.client.post("/oauth/token", data=form)
    assert (answer.status_code, answer.json["error"]) == (401, "invalid_client")


def test_two_ways_to_authenticate_are_refused(server: Server) -> None:
    """JO-054, JO-092."""
    tenant = server.tenant()
    bob, eve = tenant.agent("bob"), tenant.agent("eve")
    for form in (
        {"client_secret": bob.client_secret},
        {"client_id": public_id(eve), "client_secret": eve.client_secret},
        {"client_assertion": "a.b.c"},
        {"client_id": public_id(eve)},
    ):
        answer = server.ask(bob, **form)
        assert (answer.status_code, answer.json["error"]) == (400, "invalid_request")
    twice = ", ".join(basic(public_id(a), a.client_secret) for a in (bob, eve))
    answer = server.client.post("/oauth/token", data=FORM, headers={"Authorization": twice})
    assert (answer.status_code, answer.json["error"]) == (400, "invalid_request")


def test_nothing_is_read_from_the_query(server: Server) -> None:
    """JO-052."""
    tenant = server.tenant()
    tenant.project("p1")
    bob = tenant.agent("bob", "agent:p1:read")
    authorization = {"Authorization": basic(public_id(bob), bob.client_secret)}
    for query in (
        f"client_id={public_id(bob)}&client_secret={bob.client_secret}",
        "scope=agent:p1:read",
        "grant_type=client_credentials",
    ):
        answer = server.client.post(f"/oauth/token?{query}", data=FORM, headers=authorization)
        assert (answer.status_code, answer.json["error"]) == (400, "invalid_request")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_only_post(server: Server, method: str) -> None:
    """JO-053."""
    answer = server.client.open("/oauth/token?grant_type=client_credentials", method=method)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert answer.mimetype == "application/json"


def test_a_repeated_parameter_is_refused(server: Server) -> None:
    """JO-057."""
    bob = server.tenant().agent("bob")
    headers = {"Authorization": basic(public_id(bob), bob.client_secret)}
    for form in (
        {"grant_type": ["client_credentials", "refresh_token"]},
        {"grant_type": "client_credentials", "scope": ["agent:p1:read", "agent:p1:read"]},
        {"grant_type": "client_credentials", "anything": ["1", "2"]},
    ):
        answer = server.client.post("/oauth/token", data=form, headers=headers)
        assert (answer.status_code, answer.json["error"]) == (400, "invalid_request")


@pytest.mark.parametrize(
    "grant_type",
    ["password", "authorization_code", "implicit", "refresh", "CLIENT_CREDENTIALS", "\x00\xe9"],
)
def test_other_grants_are_not_supported(server: Server, grant_type: str) -> None:
    """JO-058."""
    answer = server.ask(server.tenant().agent("bob"), grant_type=grant_type)
    assert (answer.status_code, answer.json["error"]) == (400, "unsupported_grant_type")


def test_a_missing_or_empty_grant_type_is_a_malformed_request(server: Server) -> None:
    """JO-058."""
    bob = server.tenant().agent("bob")
    headers = {"Authorization": basic(public_id(bob), bob.client_secret)}
    for form in ({}, {"grant_type": ""}):
        answer = server.client.post(
            "/oauth/token",
            data=form,
            headers=headers,
            content_type="application/x-www-form-urlencoded",
        )
        assert (answer.status_code, answer.json["error"]) == (400, "invalid_request")


def test_a_json_body_is_refused(server: Server) -> None:
    """JO-059."""
    bob = server.tenant().agent("bob")
    headers = {"Authorization": basic(public_id(bob), bob.client_secret)}
    answer = server.client.post("/oauth/token", json=FORM, headers=headers)
    assert (answer.status_code, answer.json["error"]) == (400, "invalid_request")


def test_a_body_too_large_is_refused_in_json(server: Server) -> None:
    answer = server.ask(server.tenant().agent("bob"), "x" * 40_000)
    assert answer.status_code == 413
    assert answer.json["error"] == "invalid_request"


def test_a_database_without_a_free_slot_is_told_in_json(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    bob = server.tenant().agent("bob")

    def no_slot(work: object) -> None:
        raise Overloaded

    monkeypatch.setattr(server.house.database, "run", no_slot)
    answer = server.ask(bob)
    assert (answer.status_code, answer.json["error"]) == (503, "temporarily_unavailable")
    assert answer.headers["Retry-After"]


def test_a_fault_of_ours_leaks_nothing(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    bob = server.tenant().agent("bob")

    def broken(work: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(server.house.database, "run", broken)
    answer = server.ask(bob)
    assert answer.status_code == 500
    assert "secret detail" not in answer.text


def test_a_guesser_is_slowed_down_and_nobody_is_shut_out_for_good(server: Server) -> None:
    """JO-056."""
    tenant = server.tenant()
    tenant.project("p1")
    bob, eve = tenant.agent("bob", "agent:p1:read"), tenant.agent("eve", "agent:p1:read")
    wrong = {"Authorization": basic(public_id(bob), "wrong")}
    for _ in range(MOST_FAILURES):
        answer = server.client.post("/oauth/token", data=FORM, headers=wrong)
        assert answer.status_code == 401
    answer = server.ask(bob)
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert answer.mimetype == "application/json"
    # the address is as tired as the client: another client of another address is not
    assert server.ask(eve).status_code == 429
    elsewhere = {"REMOTE_ADDR": "192.0.2.7"}
    right = {"Authorization": basic(public_id(eve), eve.client_secret)}
    answer = server.client.post("/oauth/token", data=FORM, headers=right, environ_base=elsewhere)
    assert answer.status_code == 200
    right = {"Authorization": basic(public_id(bob), bob.client_secret)}
    answer = server.client.post("/oauth/token", data=FORM, headers=right, environ_base=elsewhere)
    assert answer.status_code == 429
    server.house.database.clock_offset = timedelta(seconds=61)
    assert server.ask(bob).status_code == 200
