"""Templates of scopes that a tenant keeps."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Id, Instant

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "scope_template",
        sa.Column("template_id", Id, nullable=False),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("name", sa.String(length=190), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("created_by", sa.String(length=190), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.PrimaryKeyConstraint("template_id", name=op.f("pk_scope_template")),
        sa.UniqueConstraint("tenant_id", "name", name=op.f("uq_scope_template_tenant_id_name")),
        **TABLE_OPTIONS,
    )
