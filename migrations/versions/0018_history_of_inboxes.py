"""How deep each inbox was over the last day, for the console's table of inboxes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Id, Instant, Number

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "inbox_history",
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("slot_at", Instant, nullable=False),
        sa.Column("keep_until", Instant, nullable=False),
        sa.Column("pending", Number, nullable=False),
        sa.Column("scheduled", Number, nullable=False),
        sa.Column("claimed", Number, nullable=False),
        sa.Column("quarantined", Number, nullable=False),
        sa.Column("oldest_at", Instant, nullable=True),
        sa.PrimaryKeyConstraint("recipient_id", "slot_at", name=op.f("pk_inbox_history")),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_inbox_history_keep_until"), "inbox_history", ["keep_until"])
