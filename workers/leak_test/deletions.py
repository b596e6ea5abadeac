"""Every DELETE that the engine sends is looked at first, for quarantined events that it would take."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import Engine, event

from restante.inbox.lifecycle import Gate

_DELETE = re.compile(r"\s*DELETE\s+FROM\s+[`\"]?(\w+)[`\"]?\s*(.*)", re.IGNORECASE | re.DOTALL)
_WHOLE = re.compile(r"\s*(TRUNCATE|DROP)\b", re.IGNORECASE)
# how a row of these belongs to an event in quarantine
_BELONGS = {
    "agent_inbox": "agent_inbox.gate = {gate}",
    "event_content": "EXISTS (SELECT 1 FROM agent_inbox q WHERE q.gate = {gate} AND "
    "q.recipient_id = event_content.recipient_id AND "
    "q.sequence_number = event_content.sequence_number)",
    "event_failure": "EXISTS (SELECT 1 FROM agent_inbox q WHERE q.gate = {gate} AND "
    "q.event_id = event_failure.event_id)",
}


class Deletions:
    """Watches an engine. `seen`: deletions from the tables above; `wrong`: those of quarantined rows."""

    def __init__(self, engine: Engine) -> None:
        self.seen = 0
        self.wrong: list[str] = []
        event.listen(engine, "before_cursor_execute", self._look)

    def _look(
        self,
        connection: Any,
        _cursor: Any,
        statement: str,
        parameters: Any,
        _context: Any,
        executemany: bool,  # noqa: FBT001 - SQLAlchemy's
    ) -> None:
        if _WHOLE.match(statement):
            self.wrong.append(statement[:200])
        found = _DELETE.match(statement)
        if found is None or found[1] not in _BELONGS:
            return
        self.seen += 1
        belongs = _BELONGS[found[1]].format(gate=Gate.QUARANTINED.value)
        rest = found[2].strip()
        where = f"WHERE {belongs}"
        if rest[:5].upper() == "WHERE":
            where += f" AND ({rest[5:]})"
        asked = f"SELECT COUNT(*) FROM {found[1]} {where}"  # noqa: S608 - the engine's own statement
        cursor = connection.connection.dbapi_connection.cursor()
        for each in parameters if executemany else [parameters]:
            # without values a driver leaves percent signs alone
            cursor.execute(asked, each) if each else cursor.execute(asked)
            if cursor.fetchone()[0]:
                self.wrong.append(statement[:200])
        cursor.close()
