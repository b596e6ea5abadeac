"""Exit codes, the same for every command, and how an error is told."""

from __future__ import annotations

import json
import sys
from typing import Any, NoReturn

from restante_agent.cli.screen import printable
from restante_agent.errors import (
    ApiError,
    ConfigurationError,
    CursorGone,
    Forbidden,
    OAuthError,
    RateLimited,
    RestanteError,
    ServerFailure,
    StaleClaim,
    Unauthenticated,
    UnexpectedAnswer,
    Unreachable,
)

USAGE, REFUSED, STALE, DENIED, UNAVAILABLE, GONE = 2, 3, 4, 5, 6, 7

EPILOG = (
    "Exit codes: 0 done; 2 wrong usage or setting; 3 refused by the server; 4 the claim is over"
    " (409 stale-claim); 5 not allowed (401, 403, token refused); 6 no answer, or the server is"
    " overloaded: try again; 7 the cursor is gone (410)."
)


def code_of(error: RestanteError) -> int:
    if isinstance(error, ConfigurationError):
        return USAGE
    if isinstance(error, StaleClaim):
        return STALE
    if isinstance(error, Unauthenticated | Forbidden | OAuthError):
        return DENIED
    if isinstance(error, Unreachable | ServerFailure | RateLimited | UnexpectedAnswer):
        return UNAVAILABLE
    if isinstance(error, CursorGone):
        return GONE
    return REFUSED


def leave(error: RestanteError, *, as_json: bool, remedy: str = "") -> NoReturn:
    """Say what went wrong, as the one JSON value on stdout if that was asked for, and exit."""
    if as_json:
        print(json.dumps({"error": described(error)}))
    text = str(error)
    if isinstance(error, CursorGone):
        text += f": {error.oldest_cursor} to {error.head} can be read after"
    if remedy:
        text += f"; {remedy}"
    print(f"restante-agent: {printable(text)}", file=sys.stderr)
    sys.exit(code_of(error))


def described(error: RestanteError) -> dict[str, Any]:
    kind = {"kind": type(error).__name__, "message": str(error)}
    if isinstance(error, ApiError):
        return {**error.problem.members, **kind, "status": error.status, "slug": error.slug}
    return kind
