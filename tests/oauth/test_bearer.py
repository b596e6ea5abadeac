"""How a token may be sent (RFC 6750)."""

from __future__ import annotations

import pytest

from tests.oauth.conftest import Server
from tests.support.databases import TestDatabase


@pytest.fixture
def database(sqlite_database: TestDatabase) -> TestDatabase:
    """Nothing here depends on the database."""
    return sqlite_database


@pytest.fixture
def token(server: Server) -> str:
    tenant = server.tenant()
    tenant.project("p1")
    return server.token(tenant.agent("bob", "agent:p1:read"))


@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": ""}, {"Authorization": "Basic YTpi"}, {"Authorization": "Nothing x"}],
)
def test_without_a_token_the_challenge_names_no_error(
    server: Server, headers: dict[str, str]
) -> None:
    """JO-038."""
    answer = server.client.get("/whoami", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="restante"'


def test_a_token_in_the_query_is_none(server: Server, token: str) -> None:
    """JO-039."""
    answer = server.client.get(f"/whoami?access_token={token}")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="restante"'
    assert token not in answer.text


def test_two_ways_at_once(server: Server, token: str) -> None:
    """JO-040."""
    headers = {"Authorization": f"Bearer {token}"}
    answer = server.client.get(f"/whoami?access_token={token}", headers=headers)
    assert (answer.status_code, answer.json["type"]) == (400, "/problems/ambiguous-credentials")
    answer = server.client.open(
        "/whoami", method="GET", headers=headers, data={"access_token": token}
    )
    assert answer.status_code == 400


def test_two_authorization_fields(server: Server, token: str) -> None:
    """JO-041: servers join them with a comma."""
    for joined in (
        f"Bearer {token},Bearer {token}",
        f"Bearer {token}, Basic YTpi",
        f"Basic YTpi,Bearer {token}",
    ):
        answer = server.client.get("/whoami", headers={"Authorization": joined})
        assert answer.status_code == 400


@pytest.mark.parametrize("scheme", ["bEaReR", "BEARER", "bearer"])
def test_the_scheme_has_no_case(server: Server, token: str, scheme: str) -> None:
    """JO-042."""
    answer = server.client.get("/whoami", headers={"Authorization": f"{scheme} {token}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("token_text", ["", "two words", "ümlaut", "a\tb", "=", "a=b"])
def test_what_cannot_be_a_token(server: Server, token_text: str) -> None:
    answer = server.client.get("/whoami", headers={"Authorization": f"Bearer {token_text}"})
    assert answer.status_code == 401
