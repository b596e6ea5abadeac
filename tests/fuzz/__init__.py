"""Hostile input over every endpoint, in process and at a served installation."""
