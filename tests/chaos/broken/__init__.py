"""Builds that are broken on purpose, to be caught."""
