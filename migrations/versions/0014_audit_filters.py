"""What the audit is searched by besides: who did it, and when."""

from __future__ import annotations

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("audit_of_actor", "audit_entry", ["chain_id", "actor_id", "number"])
    op.create_index("audit_by_time", "audit_entry", ["chain_id", "at", "number"])
