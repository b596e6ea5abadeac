"""What a model is told when a call failed: what happened, and the next right call."""

from __future__ import annotations

from mcp.server.mcpserver.exceptions import ToolError

from restante_agent.errors import (
    ACCESS,
    PASSING,
    ApiError,
    ConfigurationError,
    IdempotencyInFlight,
    IdempotencyKeyReused,
    InboxFull,
    InsufficientScope,
    InvalidScope,
    NotFound,
    PayloadTooLarge,
    RecipientRefused,
    RestanteError,
    StaleClaim,
    ValidationFailed,
)
from restante_agent.memory_errors import RevisionGone, TurnConflict, VersionConflict

LOST = (
    "Stop the work on this event and do nothing more for it: it is somebody else's now, or nobody's."
    " Next: claim."
)
_SHOWN = 2_000

_NEXT: tuple[tuple[type[RestanteError] | tuple[type[RestanteError], ...], str], ...] = (
    (StaleClaim, LOST),
    (
        VersionConflict,
        (
            "Nothing was written: somebody wrote the key since. Next: memory_get, decide anew, and"
            " memory_put or turn with if_version at the version it says (0: the key must not be there)."
        ),
    ),
    (
        RecipientRefused,
        (
            "Nothing was published. Recipients are ids like agt_… of agents that have the project. Next:"
            " the same tool with recipients that you were given, or with in_reply_to alone."
        ),
    ),
    (
        IdempotencyKeyReused,
        (
            "A turn of this lease was done already, with other contents; its answer was lost. Do not"
            " repeat it. Next: held, and claim for the next event."
        ),
    ),
    (
        ValidationFailed,
        "Nothing was changed. Next: mend what is named, and call the same tool again.",
    ),
    (PayloadTooLarge, "Nothing was changed. Next: the same tool with less in it, or with a link."),
    (
        InboxFull,
        (
            "Nothing was published: a recipient does not keep up. Next: release the lease with"
            " delay_seconds, or publish later."
        ),
    ),
    (
        (InsufficientScope, InvalidScope),
        (
            "Nothing was changed; only an operator can grant this, so do not try again. Next: go on"
            " without it, or release the lease with an error that says so."
        ),
    ),
    (NotFound, "There is nothing of that name that this agent may see. Next: check the name."),
    (RevisionGone, "What was deleted since is no longer known. Next: memory_list from the start."),
    (
        IdempotencyInFlight,
        "Next: the same call, unchanged, in a few seconds; it is done once, however often it is sent.",
    ),
    (ACCESS, "Only an operator can give access back. Next: stop, and tell your user."),
    (PASSING, "Next: the same call, unchanged{wait}; it is done once, however often it is sent."),
    (ConfigurationError, "Next: stop, and tell your user."),
)


def refusal(error: RestanteError) -> ToolError:
    """The error for the model; nothing in it can break a line or end a fence."""
    if isinstance(error, TurnConflict):
        told = LOST if error.is_stale else _TURN
    else:
        told = next((text for kind, text in _NEXT if isinstance(error, kind)), "Next: held.")
    named = error.retry_after_seconds if isinstance(error, ApiError) else None
    wait = f" in {named:.0f} s" if named else " in a few seconds"
    return ToolError(f"{plain(str(error))[:_SHOWN]}. {told.format(wait=wait)}")


_TURN = (
    "Nothing of the turn was done, and the lease is still yours. Next: mend the part that is named"
    " and call turn again, or release."
)


def plain(text: str) -> str:
    """ASCII on one line, without what a fence or a tag is made of."""
    shown = text.encode("ascii", "backslashreplace").decode()
    return "".join(c for c in shown if c.isprintable() and c not in "`<>").rstrip(".")
