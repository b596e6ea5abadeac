"""How a callback's receiver stands: its circuit, how many deliveries at once, since when it is suspended."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import Instant, ascii_text

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "callback",
        sa.Column("circuit", ascii_text(10), nullable=False, server_default="closed"),
    )
    op.add_column(
        "callback", sa.Column("at_once", sa.Integer(), nullable=False, server_default="1")
    )
    op.add_column("callback", sa.Column("took_ms", sa.Integer(), nullable=True))
    op.add_column("callback", sa.Column("suspended_at", Instant, nullable=True))
