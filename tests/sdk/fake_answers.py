"""What the fake inbox is made of: rows, and answers as a server gives them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Reply = tuple[int, dict[str, str], dict[str, Any] | bytes | None]

AGENT = "agt_0190000000007000800000000000000a"
SECRET = "s3cret-of-tests"


@dataclass
class Row:
    event: dict[str, Any]
    status: str = "pending"
    generation: int = 0
    consumer: str | None = None
    deadline: float = 0.0
    due: float = 0.0
    result: Any = None
    last_error: Any = None
    ended_as: str = ""
    effects: list[str] = field(default_factory=list)


STATS = {
    "scheduled": 0,
    "oldest_pending_age_seconds": 1.5,
    "streams": 0,
    "last_seen_at": None,
}


def problem(status: int, slug: str, **members: Any) -> Reply:
    headers = {"content-type": "application/problem+json", "x-request-id": "req-1"}
    if "retry_after" in members:
        headers["retry-after"] = str(members.pop("retry_after"))
    body = {"type": f"/problems/{slug}", "title": slug, "status": status, **members}
    return status, headers, body
