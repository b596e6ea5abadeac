"""Redrives of one event first, and of the rest once that one is completed."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import Id, Instant, ascii_text

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "triage_job", sa.Column("canary", sa.Boolean(), nullable=False, server_default="0")
    )
    op.add_column("triage_job", sa.Column("canary_id", Id, nullable=True))
    op.add_column("triage_job", sa.Column("canary_until", Instant, nullable=True))
    op.add_column("triage_job", sa.Column("rest_at", Instant, nullable=True))
    op.add_column("triage_job", sa.Column("stopped_because", ascii_text(16), nullable=True))
