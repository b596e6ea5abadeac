"""Memory: what agents remember, and the revision each agent's memory is at."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, ascii_text

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent_memory",
        sa.Column("agent_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("memory_revision", sa.BigInteger(), nullable=False),
        sa.Column("oldest_revision", sa.BigInteger(), nullable=False, server_default="0"),
        sa.CheckConstraint(
            "oldest_revision <= memory_revision", name=op.f("ck_agent_memory_floor")
        ),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "memory_entry",
        sa.Column("agent_id", Id, primary_key=True),
        sa.Column("project_id", Id, primary_key=True),
        sa.Column("key_hash", Hash, primary_key=True),
        sa.Column("entry_key", sa.String(200), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("value", Blob, nullable=True),
        sa.Column("value_bytes", sa.Integer(), nullable=False),
        sa.Column("updated_at", Instant, nullable=False),
        sa.Column("deleted_at", Instant, nullable=True),
        sa.Column("writer", ascii_text(64), nullable=False),
        sa.CheckConstraint(
            "(value IS NULL) = (deleted_at IS NOT NULL)",
            name=op.f("ck_memory_entry_tombstone_has_no_value"),
        ),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("memory_keys"), "memory_entry", ["agent_id", "project_id", "deleted_at"])
    op.create_index(op.f("memory_since"), "memory_entry", ["agent_id", "revision"])
    op.create_index(op.f("memory_tombstone"), "memory_entry", ["deleted_at"])


def downgrade() -> None:
    op.drop_table("memory_entry")
    op.drop_table("agent_memory")
