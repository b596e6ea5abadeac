"""Tickets that open one stream each, for browsers, which send no token with an EventSource."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Hash, Id, Instant, ascii_text

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "subscribe_ticket",
        sa.Column("ticket_hash", Hash, primary_key=True),
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("credential_id", Id, nullable=False),
        sa.Column("token_id", ascii_text(32), nullable=False),
        sa.Column("kid", ascii_text(64), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("issued_at", sa.BigInteger(), nullable=False),
        sa.Column("token_expires_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_subscribe_ticket_expires_at"), "subscribe_ticket", ["expires_at"])
