"""What an admin does to a callback: approve, reject, suspend, resume, challenge it, change its secret.

Each says why and takes a fresh proof of who decides. What calls out holds no transaction while it does.
"""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Response, request

from blueprints.console.callbacks import show
from blueprints.console.challenge_words import REASONS
from blueprints.console.faults import faults_of
from blueprints.console.form_keys import keep_made, made_before
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator
from extensions import house
from restante.errors import (
    CallbackConflict,
    CallbackRefused,
    ChallengeFailed,
    RateLimited,
    RestanteError,
    ValidationFailed,
)
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session
from restante.webhooks.approval import decide
from restante.webhooks.callbacks import Callback
from restante.webhooks.secret_rotation import rotate_secret
from restante.webhooks.states import Step

blueprint = Blueprint("console_callback_decisions", __name__)
TWICE_ROTATED = (
    "This form was sent a moment ago already, and the secret was shown there, once. "
    "No other was made. Where it was not seen, make another one."
)
_MOST = 2_000
"""Characters of what was typed that are shown again."""


@blueprint.post("/callbacks/<callback_id>/approve")
@with_session(Right.CALLBACKS_WRITE, calls_out=True)
def approve(who: SignedIn, callback_id: str) -> Response:
    """It may be told and given things from now on; its URL is judged anew before."""
    return _activate(who, callback_id, Step.APPROVE)


@blueprint.post("/callbacks/<callback_id>/resume")
@with_session(Right.CALLBACKS_WRITE, calls_out=True)
def resume(who: SignedIn, callback_id: str) -> Response:
    """It goes on, and is challenged at once if it has not just been."""
    return _activate(who, callback_id, Step.RESUME)


@blueprint.post("/callbacks/<callback_id>/challenge")
@with_session(Right.CALLBACKS_WRITE, calls_out=True)
def challenge(who: SignedIn, callback_id: str) -> Response:
    """It is asked again to prove that it has the secret."""
    return _calling_out(
        who,
        callback_id,
        lambda: house().challenger.again_for(administrator(who), callback_id),
    )


@blueprint.post("/callbacks/<callback_id>/reject")
@with_session(Right.CALLBACKS_WRITE)
def reject(session: Session, who: SignedIn, callback_id: str) -> Response:
    """Nothing goes out to it."""
    return _decide(session, who, callback_id, Step.REJECT)


@blueprint.post("/callbacks/<callback_id>/suspend")
@with_session(Right.CALLBACKS_WRITE)
def suspend(session: Session, who: SignedIn, callback_id: str) -> Response:
    """No delivery begins until it is resumed."""
    return _decide(session, who, callback_id, Step.SUSPEND)


@blueprint.post("/callbacks/<callback_id>/secret")
@with_session(Right.CALLBACKS_WRITE)
def secret(session: Session, who: SignedIn, callback_id: str) -> Response:
    """Another secret, on the page that answers and nowhere else."""
    if made_before(session, who) is not None:
        return show(session, who, callback_id, status=409, fault=TWICE_ROTATED)
    told, _ = rotate_secret(session, administrator(who), callback_id, house().challenger.secrets)
    keep_made(session, who, callback_id.encode())
    return show(session, who, callback_id, secret=told)


def _decide(session: Session, who: SignedIn, callback_id: str, step: Step) -> Response:
    admin, reason = administrator(who), _reason()
    try:
        decide(session, admin, callback_id, step, reason=reason)
    except (ValidationFailed, CallbackConflict) as error:
        return _not_done(session, who, callback_id, error)
    return see(f"/callbacks/{callback_id}")


def _activate(who: SignedIn, callback_id: str, step: Step) -> Response:
    admin, reason = administrator(who), _reason()
    return _calling_out(
        who,
        callback_id,
        lambda: house().challenger.activate(admin, callback_id, step, reason=reason),
    )


def _calling_out(who: SignedIn, callback_id: str, verb: Callable[[], Callback]) -> Response:
    try:
        verb()
    except (
        ValidationFailed,
        CallbackConflict,
        CallbackRefused,
        ChallengeFailed,
        RateLimited,
    ) as error:
        why = error
        return house().database.run(lambda s: _not_done(s, who, callback_id, why))
    return see(f"/callbacks/{callback_id}")


def _not_done(session: Session, who: SignedIn, callback_id: str, why: RestanteError) -> Response:
    status = 422 if isinstance(why, ValidationFailed) else 409
    return show(
        session, who, callback_id, status=status, fault=_words(why), typed=_reason()[:_MOST]
    )


def _words(why: RestanteError) -> str:
    match why:
        case ValidationFailed():
            said = faults_of(why)["reason"]
            return f"Say why: it {said}. It is kept in the audit, and its agent reads it. Nothing was done."
        case ChallengeFailed():
            reason = str(why.members.get("reason", ""))
            return f"It did not pass: {REASONS.get(reason, reason)}"
        case CallbackRefused():
            return "Its URL is no longer one that this server calls. Nothing was done."
        case RateLimited():
            seconds = why.retry_after_seconds
            minutes = max(1, round(seconds / 60))
            return f"{why.detail} The next may go in {minutes} min. Nothing was sent."
    return f"{why.detail} Nothing was done."


def _reason() -> str:
    return request.form.get("why", "").strip()
