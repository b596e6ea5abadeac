"""Posts of rooms are found by their age: they are kept for as long as events."""

from __future__ import annotations

from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(op.f("ix_room_post_created_at"), "room_post", ["created_at"])
