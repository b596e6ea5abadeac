"""What operates the house: samples for metrics and history, and marks of the maintenance."""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, Integer, Table

from restante.storage.base import TABLE_OPTIONS, Id, Instant, Number, ascii_text, metadata

sample = Table(
    "sample",
    metadata,
    Column("sampled_at", Instant, primary_key=True),
    Column("scope", ascii_text(40), primary_key=True),  # all, ten_…, agt_…
    Column("measure", ascii_text(48), primary_key=True),
    Column("amount", Float(53), nullable=False),
    **TABLE_OPTIONS,
)

DELIVERED_CLASSES = 14

# A tenant's figures in a slot of time, of minutes for a day and of half hours for a month: as the last
# sample of the slot had them (null: none fell into it), and counts that processes add to.
tenant_history = Table(
    "tenant_history",
    metadata,
    Column("tenant_id", Id, primary_key=True),
    Column("span_seconds", Integer, primary_key=True, autoincrement=False),
    Column("slot_at", Instant, primary_key=True),
    Column("keep_until", Instant, nullable=False),
    Column("pending", Number, nullable=True),
    Column("oldest_pending_seconds", Float(53), nullable=True),
    Column("claimed", Number, nullable=True),
    Column("quarantined", Number, nullable=True),
    Column("arrived", Number, nullable=True),  # ever: the sum of the heads
    Column("lease_expirations", Number, nullable=False, server_default="0"),
    Column("quarantinings", Number, nullable=False, server_default="0"),
    # completions by how long after `available_at` they were acked (sampling/history.py: CLASSES_MS)
    *(
        Column(f"delivered_{number}", Number, nullable=False, server_default="0")
        for number in range(DELIVERED_CLASSES)
    ),
    Index(None, "keep_until"),
    **TABLE_OPTIONS,
)

# An inbox in a slot of half an hour, as the last sample of the slot had it; none: nothing lay in it then.
inbox_history = Table(
    "inbox_history",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("slot_at", Instant, primary_key=True),
    Column("keep_until", Instant, nullable=False),
    Column("pending", Number, nullable=False),
    Column("scheduled", Number, nullable=False),
    Column("claimed", Number, nullable=False),
    Column("quarantined", Number, nullable=False),
    Column("oldest_at", Instant, nullable=True),  # when its first pending event became available
    Index(None, "keep_until"),
    **TABLE_OPTIONS,
)

# An inbox as the last sample found it; none: nothing lay in it. Each index is an order of a page.
inbox_standing = Table(
    "inbox_standing",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("pending", Number, nullable=False),
    Column("scheduled", Number, nullable=False),
    Column("claimed", Number, nullable=False),
    Column("quarantined", Number, nullable=False),
    Column("unsettled", Number, nullable=False),  # pending and scheduled: what its limit is for
    Column("oldest_at", Instant, nullable=True),  # when its first pending event became available
    *(
        Index(None, "tenant_id", name, "recipient_id")
        for name in ("pending", "claimed", "quarantined", "unsettled", "oldest_at")
    ),
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
