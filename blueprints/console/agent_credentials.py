"""What an agent proves itself by: listed, revoked, and new ones, a secret on the answering page alone."""

from __future__ import annotations

import json
from typing import Any

from flask import Blueprint, Response, request

from blueprints.console.agent_shell import agent_page, line_of
from blueprints.console.form_keys import TWICE, keep_made, made_before, new_form_key
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator
from restante.errors import TooManyKeys, ValidationFailed
from restante.identity.machine_credentials import (
    MOST_SECRETS,
    add_key,
    add_secret,
    list_credentials,
    revoke_credential,
)
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

blueprint = Blueprint("console_agent_credentials", __name__)
CREDENTIALS = 25
MOST_TYPED = 8_000
AGENT = PrincipalKind.AGENT
NO_KEY = (
    "That is no JSON object. A public JWK looks like "
    '{"kty": "OKP", "crv": "Ed25519", "x": "…"}. Nothing was registered.'
)


@blueprint.get("/inboxes/<agent_id>/credentials")
@with_session(Right.AGENTS_READ)
def listed(session: Session, who: SignedIn, agent_id: str) -> Response:
    """Those that are good now."""
    return _page(session, who, agent_id)


@blueprint.post("/inboxes/<agent_id>/credentials/secret")
@with_session(Right.CREDENTIALS_WRITE)
def make_secret(session: Session, who: SignedIn, agent_id: str) -> Response:
    """Another client secret, shown this once."""
    if made_before(session, who) is not None:
        return _page(session, who, agent_id, status=409, fault=TWICE)
    try:
        made = add_secret(session, administrator(who), AGENT, agent_id)
    except TooManyKeys as error:
        return _page(session, who, agent_id, status=409, fault=f"{error.detail} Nothing was made.")
    keep_made(session, who, made.public_id.encode())
    return _page(session, who, agent_id, secret=made.secret, made=made.public_id)


@blueprint.post("/inboxes/<agent_id>/credentials/key")
@with_session(Right.CREDENTIALS_WRITE)
def register_key(session: Session, who: SignedIn, agent_id: str) -> Response:
    """A public key as a JWK; its private half never comes here."""
    line_of(session, who, agent_id)
    jwk = _object(request.form.get("public_jwk", "")[:MOST_TYPED])
    if jwk is None:
        return _page(session, who, agent_id, status=422, fault=NO_KEY)
    try:
        made = add_key(session, administrator(who), AGENT, agent_id, public_jwk=jwk)
    except ValidationFailed as error:
        first = (error.members.get("errors") or [{}])[0]
        fault = f"The key {first.get('detail', 'cannot be used')}. Nothing was registered."
        return _page(session, who, agent_id, status=422, fault=fault)
    except TooManyKeys as error:
        fault = f"{error.detail} Nothing was registered."
        return _page(session, who, agent_id, status=409, fault=fault)
    return see(f"/inboxes/{agent_id}/credentials?made={made.public_id}")


@blueprint.post("/inboxes/<agent_id>/credentials/<credential_id>/revoke")
@with_session(Right.CREDENTIALS_WRITE)
def revoke(session: Session, who: SignedIn, agent_id: str, credential_id: str) -> Response:
    """It ends within a second on every node, with its tokens, signing keys and login."""
    revoke_credential(session, administrator(who), AGENT, agent_id, credential_id)
    return see(f"/inboxes/{agent_id}/credentials")


def _object(text: str) -> dict[str, Any] | None:
    """What was typed, where it is a JSON object. It is never shown again: it might be a private key."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _page(
    session: Session,
    who: SignedIn,
    agent_id: str,
    *,
    status: int = 200,
    fault: str | None = None,
    secret: str | None = None,
    made: str | None = None,
) -> Response:
    line = line_of(session, who, agent_id)
    page = list_credentials(
        session,
        administrator(who),
        AGENT,
        agent_id,
        limit=CREDENTIALS,
        token=request.args.get("page"),
    )
    return agent_page(
        "agent_credentials.html",
        session,
        who,
        line,
        tab="credentials",
        status=status,
        credentials=page.credentials,
        page_token=page.next_page_token,
        first="page" not in request.args,
        most_secrets=MOST_SECRETS,
        may_make=may(who.operator.role, Right.CREDENTIALS_WRITE),
        fault=fault,
        form_key=new_form_key(),
        secret=secret,
        made=made or request.args.get("made"),
    )
