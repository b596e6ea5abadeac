"""The figures of tenants over time, for the console's charts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Id, Instant, Number

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tenant_history",
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("span_seconds", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("slot_at", Instant, nullable=False),
        sa.Column("keep_until", Instant, nullable=False),
        sa.Column("pending", Number, nullable=True),
        sa.Column("oldest_pending_seconds", sa.Float(53), nullable=True),
        sa.Column("claimed", Number, nullable=True),
        sa.Column("quarantined", Number, nullable=True),
        sa.Column("arrived", Number, nullable=True),
        sa.Column("lease_expirations", Number, nullable=False, server_default="0"),
        sa.Column("quarantinings", Number, nullable=False, server_default="0"),
        *(
            sa.Column(f"delivered_{number}", Number, nullable=False, server_default="0")
            for number in range(14)
        ),
        sa.PrimaryKeyConstraint(
            "tenant_id", "span_seconds", "slot_at", name=op.f("pk_tenant_history")
        ),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_tenant_history_keep_until"), "tenant_history", ["keep_until"])
