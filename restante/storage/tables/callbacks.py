"""Webhooks: callbacks, the secrets that sign for them, their challenges, and what was tried."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, String, Table, Text

from restante.storage.base import (
    TABLE_OPTIONS,
    Blob,
    Hash,
    Id,
    Instant,
    Number,
    ascii_text,
    metadata,
)

callback = Table(
    "callback",
    metadata,
    Column("callback_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("agent_id", Id, nullable=False),
    Column("url", ascii_text(2048), nullable=False),  # in the one spelling that is called
    Column("mode", ascii_text(8), nullable=False),
    Column("projects", Text, nullable=True),  # JSON of slugs; null: all that the agent is granted
    Column("max_in_flight", Integer, nullable=False),
    Column("status", ascii_text(20), nullable=False),
    # why, where it is not the plain way: of a person or of the server
    Column("status_reason", String(500), nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("approved_at", Instant, nullable=True),
    # the challenge that counts; another one that is answered late changes nothing
    Column("challenge_id", Id, nullable=True),
    Column("challenge_ends_at", Instant, nullable=True),  # null: it has ended
    Column("challenge_reason", ascii_text(16), nullable=True),  # why the last one failed
    Column("challenged_at", Instant, nullable=True),  # when one was last answered rightly
    Column("challenge_failures", Integer, nullable=False, server_default="0"),
    Column("challenge_failing_since", Instant, nullable=True),
    Column("challenge_due_at", Instant, nullable=True),  # of an active one: the next
    # what the last right answer came from
    Column("seen_address", ascii_text(16), nullable=True),  # its class, never the address
    Column("seen_names", Text, nullable=True),  # JSON: those of the certificate
    Column("seen_expires_at", Instant, nullable=True),
    Column("seen_latency_ms", Integer, nullable=True),
    # deliveries: when a relay is to look, and whose turn it is
    Column("due_at", Instant, nullable=True),
    Column("turn", Number, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("failing_since", Instant, nullable=True),
    Column("circuit", ascii_text(10), nullable=False, server_default="closed"),
    Column("at_once", Integer, nullable=False, server_default="1"),  # deliveries of its next round
    Column("took_ms", Integer, nullable=True),  # the last delivery, whatever came of it
    Column("suspended_at", Instant, nullable=True),  # null: it is not
    Column("delivered_at", Instant, nullable=True),
    Column("notified_cursor", Number, nullable=True),
    CheckConstraint("mode IN ('notify', 'deliver')", name="mode"),
    CheckConstraint(
        "status IN ('challenge_failed', 'pending_approval', 'active', 'suspended', 'rejected', "
        "'removed')",
        name="status",
    ),
    CheckConstraint("(status = 'active') = (due_at IS NOT NULL)", name="active_has_timer"),
    CheckConstraint(
        "(status = 'active') = (challenge_due_at IS NOT NULL)", name="active_is_challenged"
    ),
    Index("callbacks_of_agent", "agent_id", "callback_id"),
    Index("callbacks_of_tenant", "tenant_id", "status", "callback_id"),
    Index("callback_due", "due_at"),
    Index("callback_challenge_due", "challenge_due_at"),
    **TABLE_OPTIONS,
)

callback_secret = Table(
    "callback_secret",
    metadata,
    Column("secret_id", Id, primary_key=True),
    Column("callback_id", Id, nullable=False),
    Column("secret_sealed", Blob, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("signs_until", Instant, nullable=True),  # null: the newest
    Index(None, "callback_id"),
    Index(None, "signs_until"),
    **TABLE_OPTIONS,
)

# Every challenge that was sent, by the host it went to: the budget is counted from these.
callback_challenge = Table(
    "callback_challenge",
    metadata,
    Column("challenge_id", Id, primary_key=True),
    Column("callback_id", Id, nullable=False),
    Column("host_hash", Hash, nullable=False),
    Column("sent_at", Instant, nullable=False),
    Index("challenges_of_host", "host_hash", "sent_at"),
    Index(None, "sent_at"),
    **TABLE_OPTIONS,
)

# Locked while the challenges of a host are counted.
callback_host = Table(
    "callback_host",
    metadata,
    Column("host_hash", Hash, primary_key=True),
    Column("challenged_at", Instant, nullable=False),
    Index(None, "challenged_at"),
    **TABLE_OPTIONS,
)

callback_attempt = Table(
    "callback_attempt",
    metadata,
    Column("attempt_id", Id, primary_key=True),
    Column("callback_id", Id, nullable=False),
    Column("event_id", Id, nullable=True),  # null: it said only that something is there
    Column("at", Instant, nullable=False),
    Column("outcome", ascii_text(24), nullable=False),
    Column("status", Integer, nullable=True),  # of HTTP; null: there was no answer
    Column("duration_ms", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("next_at", Instant, nullable=True),
    Index("attempts_of_callback", "callback_id", "attempt_id"),
    Index(None, "at"),
    **TABLE_OPTIONS,
)
