"""`world` for the console: tenant acme, with nobody signed in."""

from __future__ import annotations

from tests.http.conftest import counted, settings, world

__all__ = ["counted", "settings", "world"]
