"""`provider`: an identity provider of the test's own; `visitor`: a browser of a console that trusts it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.rogue_provider import CLIENT_ID, CLIENT_SECRET, RogueProvider
from tests.console.visitor import Visitor
from tests.http.conftest import world
from tests.http.world import World

__all__ = ["provider", "settings", "visitor", "world"]


@pytest.fixture
def provider() -> Iterator[RogueProvider]:
    made = RogueProvider()
    yield made
    made.close()


@pytest.fixture
def settings(provider: RogueProvider) -> dict[str, object]:
    return {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
    }


@pytest.fixture
def visitor(world: World, provider: RogueProvider) -> Visitor:
    return Visitor(world, provider)
