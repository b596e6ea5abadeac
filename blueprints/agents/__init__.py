"""An agent's own API (contract 5)."""

from blueprints.agents import claim, events, read, settle, signing_keys, stream, tickets
from blueprints.agents.blueprint import EventConverter, agents

__all__ = [
    "EventConverter",
    "agents",
    "claim",
    "events",
    "read",
    "settle",
    "signing_keys",
    "stream",
    "tickets",
]
