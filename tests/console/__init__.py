"""Operators: how they sign in, their sessions, and the pages they see."""
