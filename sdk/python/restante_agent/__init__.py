"""The agent's side of Restante: a typed client and a durable inbox runner."""

from __future__ import annotations

from restante_agent.agent import Agent
from restante_agent.async_agent import AsyncAgent
from restante_agent.async_client import AsyncClient
from restante_agent.client import Client
from restante_agent.errors import (
    ApiError,
    BadRequest,
    ConfigurationError,
    Conflict,
    CursorGone,
    EventFinal,
    Forbidden,
    IdempotencyInFlight,
    IdempotencyKeyReused,
    InboxFull,
    InsufficientScope,
    InvalidClient,
    InvalidScope,
    LoginBusy,
    LoginEnded,
    LoginRefused,
    NotFound,
    OAuthError,
    OutcomeUnknown,
    Overloaded,
    PayloadTooLarge,
    Problem,
    RateLimited,
    RecipientRefused,
    RestanteError,
    ServerFailure,
    StaleClaim,
    TimedOut,
    Unauthenticated,
    UnexpectedAnswer,
    Unreachable,
    ValidationFailed,
)
from restante_agent.login.finding import find_login
from restante_agent.login.kept import KeptLogin
from restante_agent.memory_errors import RevisionGone, TurnConflict, VersionConflict
from restante_agent.memory_sync import catch_up, catch_up_async
from restante_agent.memory_view import MemoryView
from restante_agent.model.event import ClaimedEvent, Event, EventDetail, EventStatus
from restante_agent.model.frame import Frame, Heartbeat, Ready, Reconnect, Revoked, Ring, Unknown
from restante_agent.model.inbox import Claim, Committed, Held, Page, State, Stats
from restante_agent.model.memory import MemoryChanges, MemoryEntry, MemoryWrite, Turn, Turned
from restante_agent.model.publish import Publication, Published, PublishedEvent, Receipt
from restante_agent.model.settle import (
    Ack,
    Failure,
    FailureOutcome,
    Reject,
    Release,
    Renew,
    Settled,
    Settlement,
)
from restante_agent.reader import Reader
from restante_agent.runtime.board import Summary
from restante_agent.runtime.delivery import Delivery, Stopped, StopReason
from restante_agent.runtime.outcome import AttemptFailed
from restante_agent.untrusted import render_untrusted
from restante_agent.version import __version__
from restante_agent.wire.retry import NO_RETRY, RetryPolicy
from restante_agent.wire.signature import SigningKey

__all__ = [
    "NO_RETRY",
    "Ack",
    "Agent",
    "ApiError",
    "AsyncAgent",
    "AsyncClient",
    "AttemptFailed",
    "BadRequest",
    "Claim",
    "ClaimedEvent",
    "Client",
    "Committed",
    "ConfigurationError",
    "Conflict",
    "CursorGone",
    "Delivery",
    "Event",
    "EventDetail",
    "EventFinal",
    "EventStatus",
    "Failure",
    "FailureOutcome",
    "Forbidden",
    "Frame",
    "Heartbeat",
    "Held",
    "IdempotencyInFlight",
    "IdempotencyKeyReused",
    "InboxFull",
    "InsufficientScope",
    "InvalidClient",
    "InvalidScope",
    "KeptLogin",
    "LoginBusy",
    "LoginEnded",
    "LoginRefused",
    "MemoryChanges",
    "MemoryEntry",
    "MemoryView",
    "MemoryWrite",
    "NotFound",
    "OAuthError",
    "OutcomeUnknown",
    "Overloaded",
    "Page",
    "PayloadTooLarge",
    "Problem",
    "Publication",
    "Published",
    "PublishedEvent",
    "RateLimited",
    "Reader",
    "Ready",
    "Receipt",
    "RecipientRefused",
    "Reconnect",
    "Reject",
    "Release",
    "Renew",
    "RestanteError",
    "RetryPolicy",
    "RevisionGone",
    "Revoked",
    "Ring",
    "ServerFailure",
    "Settled",
    "Settlement",
    "SigningKey",
    "StaleClaim",
    "State",
    "Stats",
    "StopReason",
    "Stopped",
    "Summary",
    "TimedOut",
    "Turn",
    "TurnConflict",
    "Turned",
    "Unauthenticated",
    "UnexpectedAnswer",
    "Unknown",
    "Unreachable",
    "ValidationFailed",
    "VersionConflict",
    "__version__",
    "catch_up",
    "catch_up_async",
    "find_login",
    "render_untrusted",
]
