"""Quarantined events of an inbox, of a project and of a reason, in the order in which they came."""

from __future__ import annotations

from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name, column in (
        ("inbox", "recipient_id"),
        ("project", "project_id"),
        ("reason", "quarantine_reason"),
    ):
        op.create_index(
            f"quarantine_of_{name}",
            "event_failure",
            ["tenant_id", column, "quarantined_at", "failure_signature"],
        )
