"""Problems whose names are given, and which no call of this version answers with yet.

A client can be written against their names now. When a call comes that raises one, its entry moves
to `problems.py` and `problem_texts.py`.
"""

from __future__ import annotations

from blueprints.problem_texts import Text
from blueprints.problems import Kind

_OTHERS = {
    "callback-conflict": (
        409,
        "Another callback delivers already",
        "The agent has an active callback with mode `deliver` for this project.",
        "Suspend or remove that one first.",
    ),
    "callback-refused": (
        422,
        "The URL is not taken as a callback",
        "Judged by its text alone, the URL is none that this server calls.",
        "Take an https URL with a public host name, on port 443 or 8443, without user or fragment.",
    ),
    "challenge-failed": (
        422,
        "The callback did not answer its challenge",
        "The receiver could not be reached, or did not give the right answer: `reason` says which.",
        "Mend the receiver, and have it challenged again under the `callback_id` told.",
    ),
}


RESERVED = {
    slug: (Kind(slug, status, title), Text(happened, remedy))
    for slug, (status, title, happened, remedy) in _OTHERS.items()
}
