"""Lines of the log: `verb key=value`, or the same as JSON. They hold ids, never payloads or secrets."""

from __future__ import annotations

import logging
import re
import sys
import traceback
from types import TracebackType

from orjson import dumps
from sqlalchemy.exc import SQLAlchemyError

from config import Settings
from restante.errors import RestanteError

TEXT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_QUERY = re.compile(r"\?[^\s'\"]+")
_UNREADABLE = re.compile(r"^(Invalid request from ip=\S+: [^:'\"]*).*", re.DOTALL)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_PAIR = re.compile(r"(?:^|\s)([a-z_]+)=(\S+)")
_SPEAKING = (OSError, AttributeError, TypeError, NameError, ImportError)
"""Errors whose text is of the program and not of what somebody sent."""
_Failure = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class NothingSent(logging.Filter):
    """Takes the query out of every address in a line, and of a request that cannot be read all it said."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True: the line is written, as it is changed here."""
        text = _QUERY.sub("?[removed]", record.getMessage())
        record.msg, record.args = _UNREADABLE.sub(r"\1", text), None
        return True


class Lines(logging.Formatter):
    """As text. Of an error: what it is, where it was raised, and its text where that is the program's own."""

    def __init__(self) -> None:
        super().__init__(TEXT)

    def formatException(self, ei: _Failure) -> str:  # noqa: N802 - logging's name
        """Its chain, the cause first; a database's own words without the values in them."""
        chain: list[str] = []
        error = ei[1]
        while error is not None and len(chain) < 10:
            chain.append("".join([*traceback.format_tb(error.__traceback__), _named(error)]))
            hidden = error.__suppress_context__
            error = error.__cause__ or (None if hidden else error.__context__)
        return "\n-- then --\n".join(reversed(chain))


class JsonLines(Lines):
    """An object a line: `at`, `level`, `logger`, `message`, and each `key=value` of it as a member."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        told: dict[str, object] = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "logger": record.name,
            "message": message,
            "verb": message.partition(" ")[0].removesuffix(":"),
        }
        for name, text in _PAIR.findall(message):
            told.setdefault(name, text)
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return dumps(told).decode()


def lines(settings: Settings) -> Lines:
    """How a line is written."""
    return JsonLines() if settings.log_format == "json" else Lines()


def write_lines(settings: Settings) -> None:
    """Have every line of this process written to its error output."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(lines(settings))
    logging.basicConfig(level=logging.INFO, handlers=[handler])


def _named(error: BaseException) -> str:
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    if isinstance(error, SQLAlchemyError) or kind.startswith(("pymysql.", "sqlite3.")):
        return f"{kind}: {_QUOTED.sub('…', str(error))}"
    if isinstance(error, RestanteError):
        return f"{kind}: {error.detail}"  # whom and what it is about is what somebody sent
    return f"{kind}: {error}" if isinstance(error, _SPEAKING) else kind
