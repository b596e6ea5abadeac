"""Rooms: their members, who have read up to a post, and the posts in the order of their numbers."""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table

from restante.storage.base import TABLE_OPTIONS, Blob, Id, Instant, Number, ascii_text, metadata

room = Table(
    "room",
    metadata,
    Column("room_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("project_id", Id, nullable=False),
    Column("name", String(190), nullable=False),
    Column("created_by", ascii_text(64), nullable=False),
    Column("created_at", Instant, nullable=False),
    # the last number given to a post, under the lock of this row
    Column("last_number", Number, nullable=False, server_default="0"),
    Index("rooms_of_tenant", "tenant_id", "room_id"),
    **TABLE_OPTIONS,
)

room_member = Table(
    "room_member",
    metadata,
    Column("room_id", Id, primary_key=True),
    Column("agent_id", Id, primary_key=True),
    Column("joined_at", Instant, nullable=False),
    # the number of the last post it has asked for what comes after
    Column("read_number", Number, nullable=False, server_default="0"),
    Index("rooms_of_agent", "agent_id", "room_id"),
    **TABLE_OPTIONS,
)

room_post = Table(
    "room_post",
    metadata,
    Column("room_id", Id, primary_key=True),
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("post_id", Id, nullable=False, unique=True),
    Column("author", ascii_text(64), nullable=False),
    # JSON, as it was received
    Column("content", Blob, nullable=False),
    Column("created_at", Instant, nullable=False, index=True),
    **TABLE_OPTIONS,
)
