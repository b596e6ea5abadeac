"""Restante: a durable inbox for agents that are not always there."""

__version__ = "0.1.0"
