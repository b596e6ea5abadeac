"""Forms that wait for a fresh proof of who sends them: which are kept, and what each of them does."""

from __future__ import annotations

from flask import current_app, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from blueprints.console import return_path
from blueprints.console.drafts import keep_form, keep_order
from restante.identity.drafts import Draft
from restante.identity.operators import Operator
from restante.identity.roles import ProofTooOld
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

KEPT = frozenset(
    {
        *("why", "name", "email", "role", "scope", "more", "unsigned", "step", "form_key"),
        *("change", "agent", "grant", "shown", "alone", "agents", "from", "project", "template"),
        *(f"{what}-{row}" for what in ("pattern", "verb") for row in range(100)),
    }
)
"""Their fields. None is a secret; a form with any other field is typed again after the proof."""

TYPED = {"why": "Why", "name": "Name", "email": "E-mail", "more": "Scopes in single projects"}
"""What is shown as text that may still be changed."""

WHAT = {
    "/account/sessions/revoke-others": "End the other sessions",
    "/callbacks/<callback_id>/approve": "Approve the callback",
    "/callbacks/<callback_id>/challenge": "Challenge the callback again",
    "/callbacks/<callback_id>/reject": "Reject the callback",
    "/callbacks/<callback_id>/resume": "Resume the callback",
    "/callbacks/<callback_id>/secret": "Make another secret of the callback",
    "/callbacks/<callback_id>/suspend": "Suspend the callback",
    "/inboxes/<agent_id>/credentials/<credential_id>/revoke": "Revoke the credential",
    "/inboxes/<agent_id>/credentials/key": "Register the key",
    "/inboxes/<agent_id>/credentials/secret": "Make a client secret",
    "/members/<operator_id>/disable": "Disable the member",
    "/members/<operator_id>/enable": "Enable the member",
    "/members/<operator_id>/invitation": "Make another link for the member",
    "/members/<operator_id>/role": "Change the role of the member",
    "/members/<operator_id>/sessions/<session_id>/end": "End the session",
    "/members/<operator_id>/sessions/end": "End all sessions of the member",
    "/members/invite": "Invite the member",
    "/platform/tenants": "Create the tenant",
    "/scopes/apply": "See what the changes would do",
    "/scopes/preview": "See what the changes would do",
    "/scopes/templates/<template_id>/apply": "See what the template would do",
    "/scopes/templates/<template_id>/remove": "Remove the template",
    "/scopes/templates/new": "Keep the template",
    "/services/<service_id>/credentials/<credential_id>/revoke": "Revoke the credential",
    "/services/<service_id>/credentials": "Make another secret of the service",
    "/services/new": "Make the service",
}
"""By the rule of its address, what the button says that sends it at last."""

FIRST = {"/scopes/apply": "/scopes/preview"}
"""What shows anew what would happen, in the place of what does it."""


def what_of(draft: Draft) -> str | None:
    """What sending it does; None: it is no form that takes a proof."""
    try:
        found = current_app.url_map.bind("").match(draft.action, method="POST", return_rule=True)
    except (HTTPException, RequestRedirect):
        return None
    return WHAT.get(str(found[0]))


def to_be_proved(session: Session, who: SignedIn) -> ProofTooOld:
    """To be returned by a unit of work: the form is kept with the session, where it may be."""
    if request.method != "POST" or str(request.url_rule) not in WHAT:
        return ProofTooOld()
    return ProofTooOld(draft=keep_form(session, who, KEPT))


def after_sign_in(session: Session, who: Operator) -> str | None:
    """Where it goes on with what was sent, whose session had run out; None: on the page it belongs to."""
    if request.method == "POST" and str(request.url_rule) in WHAT:
        draft = keep_form(session, who, KEPT)
        return None if draft is None else f"/sign-in/again/kept/{draft}"
    if request.method == "POST" or return_path.ours(request.full_path) is None:
        return keep_order(session, who)
    return None
