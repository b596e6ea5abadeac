"""Calls that are refused, for the audit: which of them are worth knowing, and who made them."""

from __future__ import annotations

from flask import Request

from blueprints.origins import origin_of
from blueprints.principal import caller
from blueprints.request_ids import request_id
from extensions import house
from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.errors import InsufficientScope, NotItsOwn, RestanteError, Unauthenticated
from restante.identity.request_refusals import RefusedCall
from restante.identity.tokens import EXPIRED


def note_refused(error: RestanteError, asked: Request) -> None:
    """Enter a refusal in the audit if it is worth it: no missing token, none that is only over.

    The answer stands whether or not that succeeds. Opens a unit of work, after the request's own.
    """
    refused = _refused(error, asked)
    if refused is not None:
        house().refusals.note(refused)


def _refused(error: RestanteError, asked: Request) -> RefusedCall | None:
    if isinstance(error, Unauthenticated):
        if not error.presented or error.reason == EXPIRED:
            return None
        kind = why = f"the token does not hold ({error.reason})"
        if error.bearer is None:
            kind = "token"  # what else a stranger could make up does not make it more
    elif isinstance(error, InsufficientScope):
        kind, why = "scope", error.detail
    elif isinstance(error, NotItsOwn):
        kind = why = "another's address"
    else:
        return None
    found = caller(asked)
    named = error.bearer if isinstance(error, Unauthenticated) else None
    if named is None and found is not None:
        by, named = origin_of(asked, found), found.public_id
    else:
        # whom a token names that holds no more: it may be anybody who has it
        by = Origin(Actor(ActorKind.CLIENT, named), asked.remote_addr, request_id(asked))
    return RefusedCall(by, named, kind, target_of(asked), why)


def target_of(asked: Request) -> str:
    """The route, without what the caller has put into it."""
    return f"{asked.method} {asked.url_rule}"
