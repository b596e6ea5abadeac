"""The server's keys say what they sign: access tokens, as all of them do so far, or webhooks."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import ascii_text

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "token_key",
        sa.Column("purpose", ascii_text(8), nullable=False, server_default="token"),
    )
