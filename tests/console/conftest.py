"""`world` for the console: tenant acme, with nobody signed in."""

from __future__ import annotations

from tests.http.conftest import settings, world

__all__ = ["settings", "world"]
