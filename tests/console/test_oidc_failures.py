"""A provider that is down, slow, huge or misconfigured is a page that says so, and changes nothing."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from restante.identity.oidc import provider as calls
from tests.console.oidc_fixtures import provider, settings, visitor, world  # noqa: F401 - fixtures
from tests.console.rogue_provider import RogueProvider
from tests.console.visitor import Visitor, invited
from tests.http.world import World

# ruff: noqa: F811 - fixtures are arguments


def unavailable(visitor: Visitor) -> None:
    visitor.get("/sign-in")
    answer = visitor.post("/sign-in/oidc")
    assert (answer.status_code, answer.headers["Retry-After"]) == (502, "10"), answer.text
    assert "cannot be asked" in answer.text
    assert "127.0.0.1:" not in answer.text.replace(visitor.provider.issuer.partition("//")[2], "")


@pytest.mark.parametrize(
    ("discovery", "cause"),
    [
        ({"issuer": "https://evil.example"}, "issuer"),
        ({"issuer": None}, "issuer"),
        ({"authorization_endpoint": None}, "unfit"),
        ({"token_endpoint": None}, "unfit"),
        ({"jwks_uri": None}, "unfit"),
        ({"jwks_uri": 1}, "unfit"),
        ({"token_endpoint": "ftp://evil.example/token"}, "unfit"),
        ({"authorization_endpoint": "javascript:alert(1)"}, "unfit"),
        ({"authorization_endpoint": "https://evil.example/#x"}, "unfit"),
        ({"code_challenge_methods_supported": ["plain"]}, "unfit"),
        ({"token_endpoint_auth_methods_supported": ["private_key_jwt"]}, "unfit"),
    ],
    ids=str,
)
def test_a_provider_that_does_not_do(
    visitor: Visitor,
    provider: RogueProvider,
    discovery: dict[str, Any],
    cause: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider.discovery = discovery
    with caplog.at_level(logging.ERROR, "restante.oidc"):
        unavailable(visitor)
    assert f"cause={cause}" in caplog.text


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        ((200, b"<html>"), "unreadable"),
        ((200, b"[]"), "unreadable"),
        ((200, b"[" * 100_000), "unreadable"),
        ((200, b'{"x": "' + b"x" * 600_000 + b'"}'), "too_large"),
        ((404, b"{}"), "status"),
        ((500, b"{}"), "status"),
        ((302, b"{}"), "status"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_answer_that_is_none(
    visitor: Visitor,
    provider: RogueProvider,
    answer: tuple[int, bytes],
    cause: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider.answers["/.well-known/openid-configuration"] = answer
    with caplog.at_level(logging.ERROR, "restante.oidc"):
        unavailable(visitor)
    assert f"cause={cause}" in caplog.text


def test_a_provider_that_is_down(visitor: Visitor, provider: RogueProvider) -> None:
    provider.close()
    unavailable(visitor)
    unavailable(visitor)  # remembered for a moment


def test_a_provider_that_is_slow(
    visitor: Visitor, provider: RogueProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "CALL_SECONDS", 0.2)
    provider.hang.clear()
    unavailable(visitor)


@pytest.mark.parametrize("path", ["/token", "/jwks", "/userinfo"])
@pytest.mark.parametrize("answer", [(500, b"x"), (200, b"x"), (200, b"{" * 70_000)], ids=str)
def test_one_that_fails_on_the_way_back_lets_nobody_in(
    visitor: Visitor,
    world: World,
    provider: RogueProvider,
    path: str,
    answer: tuple[int, bytes],
) -> None:
    invited(world)
    provider.answers[path] = answer
    back = visitor.sign_in(email=None)
    assert back.status_code == 502
    assert not visitor.is_in()


def test_one_that_does_not_know_us(
    visitor: Visitor, provider: RogueProvider, caplog: pytest.LogCaptureFixture
) -> None:
    said = {"error": "invalid_client", "error_description": "s3cret/with:signs"}
    provider.answers["/token"] = (401, json.dumps(said).encode())
    assert visitor.sign_in().status_code == 502
    assert "cause=client" in caplog.text
    assert "s3cret" not in caplog.text


def test_no_transaction_is_open_while_it_is_asked(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    """On SQLite another writer would wait: here one writes in the midst of every call."""
    invited(world)
    seen: list[str] = []
    answer = provider.answer

    def writing(asked: Any, body: bytes) -> tuple[int, bytes]:
        world.house.database.run(lambda _: seen.append(asked.path))
        return answer(asked, body)

    provider.answer = writing  # type: ignore[method-assign]  # the test's own
    assert visitor.sign_in(email=None, userinfo={}).status_code == 403
    assert len(seen) == 4
