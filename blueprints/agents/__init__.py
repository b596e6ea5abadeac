"""An agent's own API (contract 5)."""

from blueprints.agents import (
    callback_changes,
    callbacks,
    claim,
    events,
    memory,
    read,
    settle,
    signing_keys,
    state,
    stream,
    tickets,
    turn,
)
from blueprints.agents.blueprint import EventConverter, KeyConverter, agents

__all__ = [
    "EventConverter",
    "KeyConverter",
    "agents",
    "callback_changes",
    "callbacks",
    "claim",
    "events",
    "memory",
    "read",
    "settle",
    "signing_keys",
    "state",
    "stream",
    "tickets",
    "turn",
]
