"""The shapes every table is made of: one metadata, and the few column types there are."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    DateTime,
    Integer,
    LargeBinary,
    MetaData,
    String,
)
from sqlalchemy.dialects import mysql
from sqlalchemy.types import BINARY, TypeEngine

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# utf8mb4_bin compares exactly, but for spaces at the end: what must be unique is hashed (Hash).
TABLE_OPTIONS: dict[str, Any] = {
    "mysql_engine": "InnoDB",
    "mysql_default_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
}

Id = BINARY(16)
"""A UUIDv7 as its 16 bytes."""

Hash = BINARY(32)
"""SHA-256 of a key somebody else chose."""

Instant = DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
"""UTC with microseconds, without a zone."""

Number = BigInteger
"""Sequence numbers, generations, fences. Signed: they are subtracted."""

Serial = BigInteger().with_variant(Integer, "sqlite")
"""An auto-increment key (SQLite counts only INTEGER)."""

Blob = LargeBinary().with_variant(mysql.MEDIUMBLOB(), "mysql", "mariadb")
"""Up to 16 MiB of bytes kept exactly as they came."""


def ascii_text(length: int) -> TypeEngine[str]:
    """A string of ASCII, compared byte for byte."""
    return String(length).with_variant(
        mysql.VARCHAR(length, charset="ascii", collation="ascii_bin"), "mysql", "mariadb"
    )
