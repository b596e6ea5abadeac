"""Restante as its users run it, with real processes that are killed."""
