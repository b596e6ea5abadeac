"""Which tokens are taken. Numbers are those of the attack cases on tokens (JO-…)."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from tests.oauth.conftest import ISSUER, Server, public_id
from tests.oauth.forging import (
    changed,
    decode,
    encode,
    header_of,
    own_key,
    payload_of,
    refused,
    signed,
    with_header,
)
from tests.support.databases import TestDatabase

LEEWAY_SECONDS = 30


@pytest.fixture
def database(sqlite_database: TestDatabase) -> TestDatabase:
    """Nothing here depends on the database."""
    return sqlite_database


@pytest.fixture
def token(server: Server) -> str:
    """A good token of an agent."""
    tenant = server.tenant()
    tenant.project("p1")
    return server.token(tenant.agent("bob", "agent:p1:read"))


def test_what_a_token_says(server: Server, token: str) -> None:
    assert header_of(token).keys() == {"alg", "typ", "kid"}
    assert header_of(token)["typ"] == "at+jwt"
    payload = payload_of(token)
    assert payload["iss"] == payload["aud"] == ISSUER
    assert payload["sub"] == payload["client_id"]
    assert payload["exp"] - payload["iat"] <= 600
    assert payload["scope"] == "agent:p1:read"
    assert payload["jti"]
    assert not refused(server, token)


def test_altered(server: Server, token: str) -> None:
    """JO-016, JO-017."""
    head, body, signature = token.split(".")
    flipped = bytearray(decode(signature))
    flipped[0] ^= 1
    other = changed(server, token, jti="other")
    for bad in (
        f"{head}.{body}.",
        f"{head}.{body}.{signature[:-4]}",
        f"{head}.{body}.{encode(bytes(flipped))}",
        f"{head}.{other.split('.')[1]}.{signature}",
        f"{head}.{body}",
        token + ".",
    ):
        assert refused(server, bad)


def test_a_member_twice(server: Server, token: str) -> None:
    """JO-018."""
    payload = json.dumps(payload_of(token)).encode()
    victim = b'"sub":"agt_' + b"0" * 32 + b'"'
    for body in (b"{" + victim + b"," + payload[1:], payload[:-1] + b"," + victim + b"}"):
        assert refused(server, signed(header_of(token), body, own_key(server)))


def test_other_spellings_of_base64url(server: Server, token: str) -> None:
    """JO-019."""
    head, body, signature = token.split(".")
    # the last letter of 64 bytes carries four bits that must be zero
    last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    loose = signature[:-1] + last[last.index(signature[-1]) + 1]
    for bad in (
        f"{head}.{body}.{signature}==",
        f"{head}=.{body}.{signature}",
        f"{head}.{body}.{loose}",
        token.replace("-", "+").replace("_", "/") if set("-_") & set(token) else f"{token}=",
    ):
        assert refused(server, bad)


def test_times(server: Server, token: str) -> None:
    """JO-020 to JO-024."""
    now = payload_of(token)["iat"]
    for bad in (
        {"iat": now - 700, "exp": now - 100},
        {"iat": now - 600, "exp": now - LEEWAY_SECONDS},
        {"nbf": now + 600},
        {"iat": now + 600, "exp": now + 1200},
        {"exp": None},
        {"iat": None},
        *({"exp": wrong} for wrong in ("9999999999", True, -1, 10**18, 1.5, now + 601, [now + 60])),
    ):
        assert refused(server, changed(server, token, **bad)), bad
    infinite = json.dumps({**payload_of(token), "exp": 0}).replace('"exp": 0', '"exp": 1e400')
    assert refused(server, signed(header_of(token), infinite.encode(), own_key(server)))


def test_a_token_ends_with_its_time(server: Server, token: str) -> None:
    assert not refused(server, token)
    server.pass_time(601)
    server.house.database.clock_offset = timedelta(seconds=601)
    assert refused(server, token)


def test_issuer_and_audience(server: Server, token: str) -> None:
    """JO-025 to JO-028."""
    for bad in (
        {"aud": "https://other.example"},
        {"aud": None},
        {"aud": []},
        {"aud": {ISSUER: 1}},
        {"iss": "https://other.example"},
        {"iss": ISSUER + "/"},
        {"iss": ISSUER.upper()},
        {"iss": ISSUER.replace("https", "http")},
        {"iss": [ISSUER]},
    ):
        assert refused(server, changed(server, token, **bad)), bad
    assert not refused(server, changed(server, token, aud=["https://other.example", ISSUER]))


@pytest.mark.parametrize("typ", [None, "", "JWT", "jwt", "id+jwt", "at", 1])
def test_other_types(server: Server, token: str, typ: object) -> None:
    """JO-029, JO-030, JO-032."""
    assert refused(server, with_header(server, token, typ=typ))


@pytest.mark.parametrize("typ", ["AT+JWT", "at+JWT", "application/at+jwt"])
def test_media_types_have_no_case(server: Server, token: str, typ: str) -> None:
    """JO-031."""
    assert not refused(server, with_header(server, token, typ=typ))


def test_scope_is_a_string(server: Server, token: str) -> None:
    """JO-036."""
    for bad in (["agent:p1:read"], None, 1, ""):
        assert refused(server, changed(server, token, scope=bad))


@pytest.mark.parametrize(
    "scope",
    [
        "agent:p1",
        "agent:p1:*",
        "agent:*:read",
        "agent:p1x:read",
        "Agent:P1:Read",
        "agent:p1:read:extra",
        "agent:p1:publish",
        "tenant:events:publish",
    ],
)
def test_scopes_that_give_nothing(server: Server, token: str, scope: str) -> None:
    """JO-034, JO-035: signed by ourselves, and still no more than the grants give."""
    assert server.call(changed(server, token, scope=scope)).json["scopes"] == []


def test_sub_is_an_agent_or_service_and_nothing_else(server: Server, token: str) -> None:
    """JO-051."""
    for sub in (
        "admin",
        "",
        "opr_" + "0" * 32,
        "agt_1",
        payload_of(token)["sub"].replace("agt", "svc"),
    ):
        assert refused(server, changed(server, token, sub=sub, client_id=sub))
    assert refused(server, changed(server, token, client_id="agt_" + "0" * 32))


def test_the_secret_is_no_token(server: Server) -> None:
    bob = server.tenant().agent("bob")
    assert refused(server, bob.client_secret)
    assert refused(server, public_id(bob))
