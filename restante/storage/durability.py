"""Server settings that decide what a power cut may take. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from restante.storage.finding import Finding, Level

SMALLEST_PACKET = 16 * 1024 * 1024


def durability(variables: Mapping[str, str]) -> Iterator[Finding]:
    """What the server's global variables (by name, in lower case) say about acknowledged events."""
    binary_log = variables.get("log_bin") == "ON"
    if variables.get("innodb_flush_log_at_trx_commit", "1") != "1":
        yield _lossy("innodb_flush_log_at_trx_commit", variables, wanted="1")
    if binary_log and variables.get("sync_binlog", "1") != "1":
        yield _lossy("sync_binlog", variables, wanted="1")
    if variables.get("innodb_doublewrite", "ON") == "OFF":
        yield Finding(
            Level.WARNING,
            "innodb_doublewrite",
            "innodb_doublewrite is OFF: a power cut can leave pages that cannot be recovered. Set it to ON "
            "in the server's configuration, unless its file system writes pages whole.",
        )
    if int(variables.get("max_allowed_packet", SMALLEST_PACKET)) < SMALLEST_PACKET:
        yield Finding(
            Level.WARNING,
            "max_allowed_packet",
            f"max_allowed_packet is {variables['max_allowed_packet']} bytes, so large publications can fail. "
            f"SET PERSIST max_allowed_packet = {SMALLEST_PACKET} (MariaDB: in its configuration).",
        )
    if binary_log and variables.get("binlog_row_image") == "FULL":
        yield Finding(
            Level.NOTE,
            "binlog_row_image",
            "binlog_row_image is FULL, so every claim and ack logs whole rows. MINIMAL logs a third of "
            "that, where nothing else reads the binary log.",
        )


def _lossy(name: str, variables: Mapping[str, str], *, wanted: str) -> Finding:
    return Finding(
        Level.WARNING,
        name,
        f"{name} is {variables[name]}: a power cut can lose events that were acknowledged. "
        f"SET GLOBAL {name} = {wanted}, and put it into the server's configuration.",
    )
