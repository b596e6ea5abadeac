"""Lines of the log that others write: without the queries of addresses, which may hold a ticket."""

from __future__ import annotations

import logging
import re

_QUERY = re.compile(r"\?[^\s'\"]+")


class NoQueries(logging.Filter):
    """Takes the query out of every address in a line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True: the line is written, as it is changed here."""
        record.msg, record.args = _QUERY.sub("?[removed]", record.getMessage()), None
        return True
