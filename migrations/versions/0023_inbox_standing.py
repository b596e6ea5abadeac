"""How inboxes stood at the last sample, in the orders of the console; agents by limit and by state."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Id, Instant, Number

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

ORDERS = ("pending", "claimed", "quarantined", "unsettled", "oldest_at")
OF_AGENTS = (["tenant_id", "max_pending"], ["tenant_id", "kind", "status", "paused"])


def upgrade() -> None:
    op.create_table(
        "inbox_standing",
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("pending", Number, nullable=False),
        sa.Column("scheduled", Number, nullable=False),
        sa.Column("claimed", Number, nullable=False),
        sa.Column("quarantined", Number, nullable=False),
        sa.Column("unsettled", Number, nullable=False),
        sa.Column("oldest_at", Instant, nullable=True),
        sa.PrimaryKeyConstraint("recipient_id", name=op.f("pk_inbox_standing")),
        **TABLE_OPTIONS,
    )
    for name in ORDERS:
        op.create_index(
            op.f(f"ix_inbox_standing_tenant_id_{name}_recipient_id"),
            "inbox_standing",
            ["tenant_id", name, "recipient_id"],
        )
    for names in OF_AGENTS:
        op.create_index(op.f(f"ix_principal_{'_'.join(names)}"), "principal", names)


def downgrade() -> None:
    for names in OF_AGENTS:
        op.drop_index(op.f(f"ix_principal_{'_'.join(names)}"), table_name="principal")
    op.drop_table("inbox_standing")
