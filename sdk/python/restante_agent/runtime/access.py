"""What the server lets one loop of a run do, told in the log when that changes and not at every try."""

from __future__ import annotations

import logging

from restante_agent.errors import ApiError, InsufficientScope, OAuthError, RestanteError

log = logging.getLogger("restante_agent")


class Access:
    """`what` the loop does, in plain words. To be used by one loop."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._refusal: str | None = None

    def refused(self, error: RestanteError) -> None:
        """The server does not allow it, for now; said once for each reason."""
        reason = _reason(error)
        if reason != self._refusal:
            self._refusal = reason
            log.warning(
                "access-lost: %s is not allowed at the moment (%s); asking again, with growing "
                "pauses of up to a minute, until it is allowed or this is stopped",
                self._what,
                reason,
            )

    def granted(self) -> None:
        """The server has allowed it."""
        if self._refusal is not None:
            self._refusal = None
            log.warning("access-back: %s is allowed again", self._what)


def _reason(error: RestanteError) -> str:
    """Without the request's id, which is another one at every try."""
    if isinstance(error, InsufficientScope):
        return f"no grant for {error.required_scope}" if error.required_scope else error.slug
    if isinstance(error, OAuthError):
        return f"no token: {Exception.__str__(error)}"
    return error.problem.detail or error.slug if isinstance(error, ApiError) else str(error)
