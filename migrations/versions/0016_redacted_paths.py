"""What operators of a tenant are not shown of payloads."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tenant", sa.Column("redacted_paths", sa.Text(), nullable=True))
