"""Who comes back from the identity provider: let in, let on, or turned away. One verb for each.

Each refusal is in the audit, and is counted for the address it came from but where the provider is
at fault.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC
from enum import StrEnum
from typing import TypeAlias

from sqlalchemy import update
from sqlalchemy.orm import Session

from restante.audit.actions import Action, ActorKind, Outcome
from restante.audit.chain import record
from restante.audit.entries import Actor, Entry, Origin
from restante.errors import NotFound
from restante.identity.failed_attempts import count_failure
from restante.identity.oidc.configuration import Groups
from restante.identity.oidc.groups import grouped_operators
from restante.identity.oidc.id_token import SKEW_SECONDS
from restante.identity.oidc.journeys import Journey, Lost
from restante.identity.oidc.people import Person, Stranger, invited_operators, operators_bound_to
from restante.identity.operators import Operator, OperatorStatus
from restante.identity.session_changes import change_operator, prove_anew
from restante.identity.sessions import (
    Method,
    SignedIn,
    begin_session,
    end_session,
    resume_session,
)
from restante.identity.sign_in import limited
from restante.storage.clock import database_now
from restante.storage.tables.operators import operator


class Fault(StrEnum):
    """What else may be wrong with an arrival."""

    DENIED = "denied"  # the provider says no, or the person did there
    PROVIDER = "provider"  # it could not be asked
    TOKEN = "token"  # what it answered does not hold
    SESSION_OVER = "session_over"
    OTHER_PERSON = "other_person"
    NOT_ANEW = "not_anew"


Why: TypeAlias = Lost | Stranger | Fault
_WORDS: dict[Why, str] = {
    Lost.OVER: "a sign-in that was not begun, is over or has come back before",
    Lost.OTHER_BROWSER: "a sign-in that another browser began",
    Stranger.NO_EMAIL: "the provider names no e-mail",
    Stranger.UNVERIFIED: "the provider does not say that the e-mail is verified",
    Stranger.UNKNOWN: "nobody is invited by this e-mail",
    Stranger.TAKEN: "the operator of this e-mail is another subject of the provider",
    Stranger.NO_GROUP: "in no group that has a role",
    Stranger.DISABLED: "the operator is disabled",
    Fault.DENIED: "the provider did not let in",
    Fault.PROVIDER: "the provider could not be asked",
    Fault.TOKEN: "the provider's answer does not hold",
    Fault.SESSION_OVER: "the session to be proved anew is over",
    Fault.OTHER_PERSON: "another person than the session's came back",
    Fault.NOT_ANEW: "the provider did not ask anew who it is",
}
_NOT_COUNTED = (Fault.PROVIDER, Fault.DENIED)


@dataclass(frozen=True, slots=True)
class Entered:
    """Somebody is in. `token`: his cookie's new value; `several`: he is more than one operator."""

    token: str
    return_path: str
    several: bool = False


@dataclass(frozen=True, slots=True)
class TurnedAway:
    """Nobody is in, and whoever was in before still is. `email`: what the provider said, if it did."""

    why: Why
    email: str | None = None


def sign_in_person(
    session: Session,
    person: Person,
    *,
    groups: Groups | None,
    return_path: str,
    by: Origin,
    user_agent: str | None = None,
    instead_of: str | None = None,
) -> Entered | TurnedAway:
    """A new session, under a new cookie whatever came; `instead_of` ends with it."""
    own = _said_to_be(by, person)
    found = (
        invited_operators(session, person, own)
        if groups is None
        else grouped_operators(session, person, groups, own)
    )
    if isinstance(found, Stranger):
        return turn_away(session, found, by=by, person=person)
    who = found[0]
    if instead_of is not None:
        end_session(session, instead_of, by=by)
    token = begin_session(
        session, who, method=Method.OIDC, user_agent=user_agent, by=replace(by, actor=who.actor)
    )
    for one in found:
        _note_entry(session, one)
    return Entered(token, return_path, several=len(found) > 1)


def prove_person(
    session: Session,
    journey: Journey,
    person: Person,
    *,
    auth_time: float | None,
    current: str | None,
    by: Origin,
) -> Entered | TurnedAway:
    """The same session, proved anew under a new cookie: the same subject, asked after it left."""
    who = None if current is None else resume_session(session, current)
    if who is None or who.session_id != journey.session_id:
        return turn_away(session, Fault.SESSION_OVER, by=by, person=person)
    if who.operator.subject_key != person.key:
        return turn_away(session, Fault.OTHER_PERSON, by=by, person=person, who=who.operator)
    left_at = journey.began_at.replace(tzinfo=UTC).timestamp()
    if auth_time is None or auth_time < left_at - SKEW_SECONDS:
        return turn_away(session, Fault.NOT_ANEW, by=by, person=person, who=who.operator)
    return Entered(prove_anew(session, who, by=by), journey.return_path)


def other_operators(session: Session, who: SignedIn) -> list[Operator]:
    """Who else in other tenants he is by the sign-in that began his session, or one since."""
    key = who.operator.subject_key
    if key is None or who.method is not Method.OIDC:
        return []
    since = operator.c.signed_in_at >= who.created_at
    found = operators_bound_to(session, key, since)
    return [
        one for one in found if one.id != who.operator.id and one.status is OperatorStatus.ACTIVE
    ]


def go_on_as(session: Session, who: SignedIn, public_id: str, *, by: Origin) -> str:
    """The cookie's new value of his session, as another operator that he is; NotFound for any other."""
    for one in other_operators(session, who):
        if one.public_id == public_id:
            return change_operator(session, who, one, by=by)
    raise NotFound


def turn_away(
    session: Session,
    why: Why,
    *,
    by: Origin,
    person: Person | None = None,
    who: Operator | None = None,
    note: str | None = None,
) -> TurnedAway:
    """Record that nobody came in, and why. `note`: more of it, for the audit alone."""
    if why not in _NOT_COUNTED:
        count_failure(session, limited(by.address))
    words = _WORDS[why] if note is None else f"{_WORDS[why]}: {note}"
    record(
        session,
        Entry(
            None if who is None else who.tenant_id,
            by if person is None else _said_to_be(by, person),
            Action.SIGNIN_REFUSE,
            None if who is None else who.public_id,
            outcome=Outcome.REFUSED,
            reason=words,
        ),
    )
    return TurnedAway(why, None if person is None else person.email)


def _note_entry(session: Session, who: Operator) -> None:
    """He is active, unless he has been disabled meanwhile: then no session of his is any good."""
    session.connection().execute(
        update(operator)
        .where(operator.c.operator_id == who.id, operator.c.status != OperatorStatus.DISABLED.value)
        .values(status=OperatorStatus.ACTIVE.value, signed_in_at=database_now(session))
    )


def _said_to_be(by: Origin, person: Person) -> Origin:
    """For the audit: an address or a subject that a provider names is a claim of who comes."""
    return replace(by, actor=Actor(ActorKind.CLIENT, person.email or person.subject))
