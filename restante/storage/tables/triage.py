"""What operators do to many quarantined events: jobs, and what each still has to do."""

from __future__ import annotations

from sqlalchemy import Boolean, CheckConstraint, Column, Index, Integer, String, Table, Text

from restante.storage.base import (
    TABLE_OPTIONS,
    Blob,
    Id,
    Instant,
    Number,
    ascii_text,
    metadata,
)

triage_job = Table(
    "triage_job",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("action", ascii_text(16), nullable=False),  # redrive | discard | amend | patch
    Column("state", ascii_text(16), nullable=False),  # running | completed | cancelled
    Column("reason", Text, nullable=False),
    Column("actor_kind", ascii_text(16), nullable=False),
    Column("actor_id", String(190), nullable=True),
    Column("forced", Boolean, nullable=False),
    Column("stagger_ms", Number, nullable=False),
    # the payload of the corrected event
    Column("amended_payload", Blob, nullable=True),
    # of a patch: what is merged into the payload of each (RFC 7396)
    Column("merge_patch", Blob, nullable=True),
    # as they were when the job was made
    Column("matched", Integer, nullable=False),
    Column("later_settled", Integer, nullable=False),
    Column("beyond_dedup_horizon", Integer, nullable=False),
    Column("capped", Boolean, nullable=False),
    # what there was to do, what is done, and what turned out not to be possible any more
    Column("total", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("skipped", Integer, nullable=False),
    # of what was passed over: what the patch did not fit, or would have left as it is
    Column("unpatched", Integer, nullable=False, server_default="0"),
    Column("created_at", Instant, nullable=False),
    Column("finished_at", Instant, nullable=True, index=True),
    # when a worker is to look again: its next event's time, or the end of a worker's turn
    Column("due_at", Instant, nullable=True),
    # one first, then the rest if it completes: that one, until when it is waited for, and when the
    # rest began
    Column("canary", Boolean, nullable=False, server_default="0"),
    Column("canary_id", Id, nullable=True),
    Column("canary_until", Instant, nullable=True),
    Column("rest_at", Instant, nullable=True),
    Column("stopped_because", ascii_text(16), nullable=True),  # canary.Stopped
    CheckConstraint("(state = 'running') = (finished_at IS NULL)", name="ended_has_instant"),
    CheckConstraint("(state = 'running') = (due_at IS NOT NULL)", name="running_has_timer"),
    Index("triage_due", "due_at"),
    Index("triage_of_tenant", "tenant_id", "job_id"),
    **TABLE_OPTIONS,
)

triage_item = Table(
    "triage_item",
    metadata,
    Column("job_id", Id, primary_key=True),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("event_id", Id, nullable=False),
    **TABLE_OPTIONS,
)
