"""What an operator typed into a form that was not carried out yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Blob, Id, Instant

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "form_draft",
        sa.Column("draft_id", Id, nullable=False),
        sa.Column("session_id", Id, nullable=False),
        sa.Column("action", sa.String(length=190), nullable=False),
        sa.Column("return_path", sa.String(length=190), nullable=True),
        sa.Column("fields", Blob, nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("draft_id", name=op.f("pk_form_draft")),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_form_draft_session_id"), "form_draft", ["session_id"])
    op.create_index(op.f("ix_form_draft_expires_at"), "form_draft", ["expires_at"])


def downgrade() -> None:
    op.drop_table("form_draft")
