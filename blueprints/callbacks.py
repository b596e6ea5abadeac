"""A callback as it is shown, to its agent and to administrators."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from blueprints import examples
from blueprints.fields import Answer
from blueprints.shapes import WireInstant
from restante.inbox.envelope import instant
from restante.storage.ids import Prefix, encode_id
from restante.webhooks.callbacks import Callback

TAG = "Callbacks"
CallbackStatus = Literal["challenge_failed", "pending_approval", "active", "suspended", "rejected"]


class OneCallback(Answer):
    """A callback, without its secrets."""

    callback_id: str
    agent_id: str
    url: str = Field(description="In the one spelling that is called.")
    mode: Literal["notify", "deliver"]
    projects: list[str] | None = Field(
        description="null: all for which the agent is granted `callback`."
    )
    max_in_flight: int
    status: CallbackStatus
    status_reason: str | None = Field(
        description="What an administrator said, or why the server suspended it."
    )
    challenge_reason: Literal["unreachable", "status", "body", "signature"] | None = Field(
        description="Why the last challenge failed; null: it did not, or none has been judged."
    )
    challenged_at: WireInstant | None = Field(
        description="When a challenge was last answered rightly."
    )
    approved_at: WireInstant | None
    failures: int = Field(description="Transport failures in a row.")
    failing_since: WireInstant | None
    circuit: Literal["closed", "open", "half_open"] = Field(
        description="`closed`: deliveries flow; `open`: one has failed, and nothing goes out before "
        "`next_try_at`; `half_open`: one goes out to see."
    )
    next_try_at: WireInstant | None
    suspended_at: WireInstant | None
    delivered_at: WireInstant | None = Field(description="When the receiver last took something.")
    created_at: WireInstant


class SeenByChallenge(Answer):
    """What the last right answer came from."""

    address: Literal["public_ipv4", "public_ipv6", "allowed"]
    certificate_names: list[str]
    certificate_expires_at: WireInstant | None
    latency_ms: Annotated[int, Field(ge=0)]


class AdministeredCallback(OneCallback):
    """A callback, with what its challenge saw."""

    agent_name: str
    seen: SeenByChallenge | None


CALLBACK: dict[str, Any] = {
    "callback_id": examples.CALLBACK_ID,
    "agent_id": examples.AGENT_ID,
    "url": "https://hooks.example.com/restante",
    "mode": "deliver",
    "projects": ["main"],
    "max_in_flight": 10,
    "status": "pending_approval",
    "status_reason": None,
    "challenge_reason": None,
    "challenged_at": examples.CREATED_AT,
    "approved_at": None,
    "failures": 0,
    "failing_since": None,
    "circuit": "closed",
    "next_try_at": None,
    "suspended_at": None,
    "delivered_at": None,
    "created_at": examples.CREATED_AT,
}
ADMINISTERED: dict[str, Any] = {
    **CALLBACK,
    "agent_name": "builder",
    "seen": {
        "address": "public_ipv4",
        "certificate_names": ["hooks.example.com"],
        "certificate_expires_at": examples.LATER,
        "latency_ms": 118,
    },
}


def shown(found: Callback) -> dict[str, Any]:
    """As its agent sees it."""
    return {
        "callback_id": found.public_id,
        "agent_id": encode_id(Prefix.AGENT, found.agent_id),
        "url": found.url,
        "mode": found.mode,
        "projects": found.projects,
        "max_in_flight": found.max_in_flight,
        "status": found.status,
        "status_reason": found.status_reason,
        "challenge_reason": found.challenge_reason,
        "challenged_at": instant(found.challenged_at),
        "approved_at": instant(found.approved_at),
        "failures": found.failures,
        "failing_since": instant(found.failing_since),
        "circuit": found.circuit,
        "next_try_at": instant(found.next_try_at),
        "suspended_at": instant(found.suspended_at),
        "delivered_at": instant(found.delivered_at),
        "created_at": instant(found.created_at),
    }


def administered(found: Callback) -> dict[str, Any]:
    """As administrators see it."""
    seen = found.seen
    told = None
    if seen is not None:
        told = {
            "address": seen.address,
            "certificate_names": seen.certificate_names,
            "certificate_expires_at": instant(seen.certificate_expires_at),
            "latency_ms": seen.latency_ms,
        }
    return {**shown(found), "agent_name": found.agent_name, "seen": told}
