"""Rooms, their members and posts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Blob, Id, Instant, Number, ascii_text

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "room",
        sa.Column("room_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("name", sa.String(190), nullable=False),
        sa.Column("created_by", ascii_text(64), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("last_number", Number, nullable=False, server_default="0"),
        **TABLE_OPTIONS,
    )
    op.create_index("rooms_of_tenant", "room", ["tenant_id", "room_id"])
    op.create_table(
        "room_member",
        sa.Column("room_id", Id, primary_key=True),
        sa.Column("agent_id", Id, primary_key=True),
        sa.Column("joined_at", Instant, nullable=False),
        sa.Column("read_number", Number, nullable=False, server_default="0"),
        **TABLE_OPTIONS,
    )
    op.create_index("rooms_of_agent", "room_member", ["agent_id", "room_id"])
    op.create_table(
        "room_post",
        sa.Column("room_id", Id, primary_key=True),
        sa.Column("number", Number, primary_key=True, autoincrement=False),
        sa.Column("post_id", Id, nullable=False),
        sa.Column("author", ascii_text(64), nullable=False),
        sa.Column("content", Blob, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.UniqueConstraint("post_id", name=op.f("uq_room_post_post_id")),
        **TABLE_OPTIONS,
    )
