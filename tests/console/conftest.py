"""`world` for the console: tenant acme, with nobody signed in; `alice` and `bob` are agents in it."""

from __future__ import annotations

from tests.http.conftest import alice, bob, ci, counted, settings, world

__all__ = ["alice", "bob", "ci", "counted", "settings", "world"]
