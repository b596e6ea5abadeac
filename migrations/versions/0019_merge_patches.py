"""Amendments of many quarantined events by one merge patch, and how many it did not fit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import Blob

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("triage_job", sa.Column("merge_patch", Blob, nullable=True))
    op.add_column(
        "triage_job", sa.Column("unpatched", sa.Integer(), nullable=False, server_default="0")
    )
