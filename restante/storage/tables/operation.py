"""What operates the house: samples for metrics and history, and marks of the maintenance."""

from __future__ import annotations

from sqlalchemy import Column, Float, Table

from restante.storage.base import TABLE_OPTIONS, Instant, Number, ascii_text, metadata

sample = Table(
    "sample",
    metadata,
    Column("sampled_at", Instant, primary_key=True),
    Column("scope", ascii_text(40), primary_key=True),  # all, ten_…, agt_…
    Column("measure", ascii_text(48), primary_key=True),
    Column("amount", Float(53), nullable=False),
    **TABLE_OPTIONS,
)

# One row: which history this database is (`restante db restored` begins a new one), and how far it
# has come: a mark that only grows, so that a restored backup can be told from what it was made of.
incarnation = Table(
    "incarnation",
    metadata,
    Column("incarnation_id", ascii_text(40), primary_key=True),
    Column("begun_at", Instant, nullable=False),
    Column("mark", Number, nullable=False, server_default="0"),
    **TABLE_OPTIONS,
)
