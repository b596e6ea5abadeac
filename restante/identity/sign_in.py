"""Signing in by a link: the limit, the link, the session and the audit, as one verb."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.identity.failed_attempts import count_failure, network_of, refuse_guessers
from restante.identity.operators import Operator
from restante.identity.session_changes import prove_anew
from restante.identity.sessions import Method, SignedIn, begin_session, end_session
from restante.identity.sign_in_links import Refusal, Refused, look_at_link, take_link

_REASONS = {
    Refusal.UNKNOWN: "no such link",
    Refusal.SPENT: "the link was used before",
    Refusal.EXPIRED: "the link is too old",
    Refusal.DISABLED: "the operator is disabled",
}


def sign_in_by_link(
    session: Session,
    secret: str,
    *,
    by: Origin,
    user_agent: str | None = None,
    instead_of: str | None = None,
) -> str | Refused:
    """The cookie's value of a new session, always another than before; `instead_of` ends with it.

    A refusal is counted for `by.address` and is in the audit; RateLimited after twenty in a minute.
    """
    subjects = limited(by.address)
    refuse_guessers(session, subjects)
    who = take_link(session, secret)
    if isinstance(who, Refused):
        count_failure(session, subjects)
        _record_refusal(session, who, by)
        return who
    if instead_of is not None:
        end_session(session, instead_of, by=by)
    own = replace(by, actor=who.actor)
    return begin_session(session, who, method=Method.LINK, user_agent=user_agent, by=own)


def prove_by_link(session: Session, who: SignedIn, secret: str, *, by: Origin) -> str | Refused:
    """The cookie's new value of a session whose operator has proved by a link of his that it is he.

    A link of another's is not spent.
    """
    refuse_guessers(session, limited(by.address))
    found = look_at_link(session, secret)
    if isinstance(found, Operator):
        other = Refused(Refusal.UNKNOWN, found)
        found = take_link(session, secret) if found.id == who.operator.id else other
    if isinstance(found, Refused):
        count_failure(session, limited(by.address))
        _record_refusal(session, found, by)
        return found
    return prove_anew(session, who, by=by)


def limited(address: str | None) -> list[str]:
    """What failed sign-ins from there are counted for."""
    return [f"signin:{network_of(address)}"]


def _record_refusal(session: Session, refused: Refused, by: Origin) -> None:
    who = refused.operator
    record(
        session,
        Entry(
            who.tenant_id if who else None,
            by,
            Action.SIGNIN_REFUSE,
            who.public_id if who else None,
            outcome=Outcome.REFUSED,
            reason=_REASONS[refused.why],
        ),
    )
