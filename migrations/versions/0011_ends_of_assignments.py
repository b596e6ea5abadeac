"""When assignments ended and keys were last worked: both are kept for a while only."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import Instant

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("assignment_ended", "assignment", ["ended_at"])
    op.add_column("assignment_sticky", sa.Column("worked_at", Instant, nullable=True))
    op.create_index(op.f("ix_assignment_sticky_worked_at"), "assignment_sticky", ["worked_at"])
