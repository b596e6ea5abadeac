"""While rows are made by the million nothing is flushed at each commit; what is measured is as it comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.servers import Server

_NAMES = ("innodb_flush_log_at_trx_commit", "sync_binlog")


@contextmanager
def hurried(server: Server) -> Iterator[None]:
    """The server's own settings come back at the end."""
    was = {name: server.execute(f"SELECT @@GLOBAL.{name}")[0][0] for name in _NAMES}
    try:
        for name in _NAMES:
            server.execute(f"SET GLOBAL {name} = 0")
        yield
    finally:
        for name, value in was.items():
            server.execute(f"SET GLOBAL {name} = {value}")
