"""What an agent does about its callbacks, each a part of a unit of work.

Whatever needs a challenge ends with one that is counted and committed before it is posted; what came
of it is written by `restante.webhooks.judging`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.egress.policy import Policy
from restante.egress.refusal import EgressRefused
from restante.egress.url import Target, parse_url
from restante.egress.verdict import judge_text
from restante.errors import CallbackConflict, CallbackRefused
from restante.identity.principal import Principal
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.callbacks import callback
from restante.storage.tables.identity import principal
from restante.webhooks.budget import spend
from restante.webhooks.callbacks import Callback, Mode, find_locked
from restante.webhooks.challenge import Challenge, new_challenge
from restante.webhooks.circuit import Circuit
from restante.webhooks.sealed import Secrets, forget
from restante.webhooks.secrets import check_secret
from restante.webhooks.states import Status, Step

MOST_CALLBACKS = 20
MOST_IN_FLIGHT = 1_000
IN_FLIGHT = 10
NOT_ACTIVE: dict[str, Any] = {"due_at": None, "challenge_due_at": None}
FRESH: dict[str, Any] = {
    "failures": 0,
    "failing_since": None,
    "circuit": Circuit.CLOSED.value,
    "at_once": 1,
    "took_ms": None,
    "suspended_at": None,
}
"""Nothing is held against it, and it begins with one delivery at a time."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A callback as its agent wants it. `projects` None: all for which it is granted `callback`."""

    target: Target
    mode: Mode
    projects: tuple[str, ...] | None
    max_in_flight: int


def judged(url: str, policy: Policy) -> Target:
    """The URL in its one spelling; CallbackRefused where its text alone says no."""
    try:
        return judge_text(url, policy)
    except EgressRefused as error:
        raise CallbackRefused from error


def register(
    session: Session, agent: Principal, secrets: Secrets, wanted: Wanted, *, secret: str, by: Origin
) -> Challenge:
    """A new one, with its first challenge. Raises CallbackConflict, RateLimited, ValidationFailed."""
    check_secret(secret)
    connection = session.connection()
    own = principal.c.principal_id == agent.id
    connection.execute(select(principal.c.principal_id).where(own).with_for_update())
    alive = (callback.c.agent_id == agent.id, callback.c.status != Status.REMOVED.value)
    count = connection.execute(select(func.count()).select_from(callback).where(*alive)).scalar()
    if (count or 0) >= MOST_CALLBACKS:
        raise CallbackConflict(
            f"The agent has {MOST_CALLBACKS} callbacks, as many as it may: remove one first."
        )
    now, raw = database_now(session), new_id()
    connection.execute(
        insert(callback).values(
            callback_id=raw,
            tenant_id=agent.tenant_id,
            agent_id=agent.id,
            status=Status.CHALLENGE_FAILED.value,
            created_at=now,
            changed_at=now,
            **_row(wanted),
        )
    )
    secrets.add(session, raw, secret, now=now)
    _note(session, agent, Action.CALLBACK_REGISTER, raw, by=by, reason=_told(wanted))
    return _challenge(session, raw, wanted.target.url, wanted.target.host, secret)


def challenge_again(
    session: Session, tenant_id: bytes, raw: bytes, secrets: Secrets, *, agent_id: bytes | None
) -> Challenge:
    """Another challenge of one. Raises NotFound, CallbackConflict, RateLimited."""
    found = find_locked(session, tenant_id, raw, agent_id=agent_id)
    found.stepped(Step.CHALLENGE_PASSED)
    newest = secrets.live(session, raw, database_now(session))[0]
    return _challenge(session, raw, found.url, parse_url(found.url).host, newest)


def change(
    session: Session, agent: Principal, raw: bytes, secrets: Secrets, wanted: Wanted, *, by: Origin
) -> Challenge | None:
    """Have it as it is wanted; the challenge with which it starts over, None where it need not.

    Raises NotFound, CallbackConflict, RateLimited.
    """
    found = find_locked(session, agent.tenant_id, raw, agent_id=agent.id)
    row, own = _row(wanted), callback.c.callback_id == raw
    starts_over = (found.url, found.mode, found.projects) != (
        wanted.target.url,
        wanted.mode,
        wanted.projects,
    )
    if not starts_over and found.max_in_flight == wanted.max_in_flight:
        return None
    now = database_now(session)
    if starts_over:
        row |= {"status": found.stepped(Step.CHANGE).value, "status_reason": None, **NOT_ACTIVE}
        row |= {"approved_at": None, "challenged_at": None, "seen_address": None}
        row |= {**FRESH, "notified_cursor": None}
    session.connection().execute(update(callback).where(own).values(changed_at=now, **row))
    _note(session, agent, Action.CALLBACK_UPDATE, raw, by=by, reason=_told(wanted))
    if not starts_over:
        return None
    newest = secrets.live(session, raw, now)[0]
    return _challenge(session, raw, wanted.target.url, wanted.target.host, newest)


def change_secret(
    session: Session, agent: Principal, raw: bytes, secrets: Secrets, *, secret: str, by: Origin
) -> datetime:
    """Another secret besides the present one, which signs for a day more; when. Raises NotFound."""
    check_secret(secret)
    find_locked(session, agent.tenant_id, raw, agent_id=agent.id)
    now = database_now(session)
    secrets.add(session, raw, secret, now=now)
    _note(session, agent, Action.CALLBACK_SECRET, raw, by=by)
    return now


def remove(session: Session, agent: Principal, raw: bytes, *, by: Origin) -> None:
    """For good: no delivery begins once this has committed. Raises NotFound."""
    found = find_locked(session, agent.tenant_id, raw, agent_id=agent.id)
    session.connection().execute(
        update(callback)
        .where(callback.c.callback_id == raw)
        .values(
            status=found.stepped(Step.REMOVE).value,
            changed_at=database_now(session),
            challenge_id=None,
            turn=callback.c.turn + 1,
            **NOT_ACTIVE,
        )
    )
    forget(session, raw)
    _note(session, agent, Action.CALLBACK_REMOVE, raw, by=by)


def why_refused(refused: CallbackRefused) -> str:
    """By which rule, for the audit; its caller is told only that it was."""
    cause = refused.__cause__
    return f"url: {cause.reason}" if isinstance(cause, EgressRefused) else "url"


def as_it_is(found: Callback, target: Target) -> Wanted:
    """What is there, to be changed in part."""
    return Wanted(target, found.mode, found.projects, found.max_in_flight)


def _challenge(session: Session, raw: bytes, url: str, host: str, secret: str) -> Challenge:
    """One that is counted, and the only one of the callback that counts from now on."""
    now = database_now(session)
    made = new_challenge(raw, url=url, secret=secret, now=now)
    spend(session, host, callback_id=raw, challenge_id=made.id)
    session.connection().execute(
        update(callback)
        .where(callback.c.callback_id == raw)
        .values(challenge_id=made.id, challenge_ends_at=made.ends_at)
    )
    return made


def _row(wanted: Wanted) -> dict[str, Any]:
    return {
        "url": wanted.target.url,
        "mode": wanted.mode.value,
        "projects": None if wanted.projects is None else json.dumps(wanted.projects),
        "max_in_flight": wanted.max_in_flight,
    }


def _told(wanted: Wanted) -> str:
    """Where to, without what may be a secret in the path."""
    return f"{wanted.mode} to {wanted.target.authority}"


def _note(
    session: Session,
    agent: Principal,
    action: Action,
    raw: bytes,
    *,
    by: Origin,
    reason: str | None = None,
) -> None:
    target = encode_id(Prefix.CALLBACK, raw)
    record(session, Entry(agent.tenant_id, by, action, target, reason=reason))
