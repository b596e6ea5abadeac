"""What an administrator decides about a callback, each a part of a unit of work with a reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import CallbackConflict, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.names import NO_REASON, SAYS_WHY
from restante.identity.roles import Right
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.callbacks import callback
from restante.storage.tables.identity import principal
from restante.webhooks.budget import WINDOW
from restante.webhooks.callbacks import (
    Callback,
    Mode,
    callback_of,
    find_callback,
    find_locked,
)
from restante.webhooks.judging import AGAIN_AFTER
from restante.webhooks.registration import FRESH, NOT_ACTIVE
from restante.webhooks.states import Status, Step
from restante.webhooks.suspension import suspended

REASON_CHARACTERS = 500
ACTIONS: Mapping[Step, Action] = {
    Step.APPROVE: Action.CALLBACK_APPROVE,
    Step.REJECT: Action.CALLBACK_REJECT,
    Step.SUSPEND: Action.CALLBACK_SUSPEND,
    Step.RESUME: Action.CALLBACK_RESUME,
}


def check_reason(reason: str) -> None:
    """ValidationFailed for one that says nothing, too much, or what is no text."""
    if not reason or len(reason) > REASON_CHARACTERS:
        raise ValidationFailed.at(
            "/reason", f"must have 1 to {REASON_CHARACTERS} characters that say why"
        )
    if not re.fullmatch(SAYS_WHY, reason):
        raise ValidationFailed.at("/reason", NO_REASON)


def about_to(
    session: Session, who: Administrator, public_id: str, step: Step
) -> tuple[Callback, bool]:
    """The callback, and whether there is anything to do: it may be there already.

    Raises NotFound, CallbackConflict and what `Administrator.require` does.
    """
    who.require(Right.CALLBACKS_WRITE)
    found = find_callback(session, who.tenant_id, public_id)
    return found, not _is_there(found, step) and bool(found.stepped(step))


def decide(
    session: Session, who: Administrator, public_id: str, step: Step, *, reason: str, url: str = ""
) -> Callback:
    """The callback after this step. `url`: what was judged for it, where it is to be active.

    What is as it was is no change. Raises as `about_to` does; also CallbackConflict where another one
    delivers the agent's events of a project already, or the URL was changed meanwhile.
    """
    check_reason(reason)
    found, changes = about_to(session, who, public_id, step)
    if not changes:
        return found
    becomes_active = step in (Step.APPROVE, Step.RESUME)
    if becomes_active:
        _alone(session, found.agent_id)
    found = find_locked(session, who.tenant_id, found.id)
    status = found.stepped(step)
    if becomes_active and found.url != url:
        raise CallbackConflict("The callback's URL was changed meanwhile: look at it again.")
    now = database_now(session)
    row: dict[str, Any] = {"status": status.value, "status_reason": reason, "changed_at": now}
    if becomes_active:
        _refuse_second(session, found)
        row |= {
            "due_at": now,
            "challenge_due_at": _challenge_due(found, step, now),
            "challenge_failures": 0,
            "challenge_failing_since": None,
            **FRESH,
        }
    elif step is Step.SUSPEND:
        row |= suspended(session, found, reason, now)
    else:
        row |= {"suspended_at": None, **NOT_ACTIVE}
    if step is Step.APPROVE:
        row["approved_at"] = now
    session.connection().execute(
        update(callback)
        .where(callback.c.callback_id == found.id)
        .values(turn=callback.c.turn + 1, **row)
    )
    record(
        session, Entry(who.tenant_id, who.by, ACTIONS[step], found.public_id, reason=reason.strip())
    )
    return find_locked(session, who.tenant_id, found.id)


def _challenge_due(found: Callback, step: Step, now: datetime) -> datetime:
    """When it is challenged next.

    One that was suspended proves itself before it is trusted for days again. If it has just done so it
    need not: a host has few challenges an hour, and each round of suspending and resuming would take one.
    """
    proved = found.challenged_at or now
    is_fresh = found.challenge_reason is None and proved > now - WINDOW
    return now if step is Step.RESUME and not is_fresh else proved + AGAIN_AFTER


def _is_there(found: Callback, step: Step) -> bool:
    there = {
        Step.APPROVE: Status.ACTIVE,
        Step.RESUME: Status.ACTIVE,
        Step.SUSPEND: Status.SUSPENDED,
        Step.REJECT: Status.REJECTED,
    }
    return found.status is there[step]


def _alone(session: Session, agent_id: bytes) -> None:
    """Of several callbacks of an agent one at a time becomes active."""
    own = principal.c.principal_id == agent_id
    session.connection().execute(select(principal.c.principal_id).where(own).with_for_update())


def _refuse_second(session: Session, found: Callback) -> None:
    """CallbackConflict where another active one delivers the agent's events of one of its projects."""
    if found.mode is not Mode.DELIVER:
        return
    rows = session.connection().execute(
        select(callback, principal.c.name)
        .join(principal, principal.c.principal_id == callback.c.agent_id)
        .where(
            callback.c.agent_id == found.agent_id,
            callback.c.status == Status.ACTIVE.value,
            callback.c.mode == Mode.DELIVER.value,
            callback.c.callback_id != found.id,
        )
    )
    for row in rows:
        other = callback_of(row)
        if (
            other.projects is None
            or found.projects is None
            or not set(other.projects).isdisjoint(found.projects)
        ):
            raise CallbackConflict(
                "Another active callback delivers the agent's events of one of these projects: suspend "
                "or reject it first.",
                callback_id=encode_id(Prefix.CALLBACK, other.id),
            )
