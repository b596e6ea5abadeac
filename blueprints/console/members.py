"""Members: who may sign in to this tenant, as what, and where they are signed in."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.faults import faults_of
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from extensions import house
from restante.errors import ValidationFailed
from restante.identity import members
from restante.identity.operators import Operator
from restante.identity.roles import RULES, Right, Role, Rule, may
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

blueprint = Blueprint("console_members", __name__)
MEMBERS = 50
WORDS = {
    Role.OPERATOR: "sees everything of the tenant; redrives, discards and cancels; approves devices",
    Role.TENANT_ADMIN: "also agents, scopes, credentials, callbacks, members and settings",
}


@blueprint.get("/members")
@with_session(Right.OPERATORS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """A page of them, by e-mail."""
    found = members.list_members(
        session, administrator(who), limit=MEMBERS, token=request.args.get("page")
    )
    return shell(
        "members.html",
        session,
        who,
        here="members",
        members=found.members,
        page_token=found.next_page_token,
        first="page" not in request.args,
        grouped=_grouped(),
    )


@blueprint.get("/members/invite")
@with_session(Right.OPERATORS_WRITE)
def describe(session: Session, who: SignedIn) -> Response:
    """Whom, and as what."""
    return _form(session, who)


@blueprint.post("/members/invite")
@with_session(Right.OPERATORS_WRITE)
def invite(session: Session, who: SignedIn) -> Response:
    """A new one, and the link to sign in with, this once."""
    email, role = request.form.get("email", ""), request.form.get("role", "")
    try:
        made, secret = members.invite_member(session, administrator(who), email=email, role=role)
    except ValidationFailed as error:
        return _form(session, who, status=422, faults=faults_of(error))
    return _link(session, who, made, secret)


@blueprint.get("/members/<operator_id>")
@with_session(Right.OPERATORS_READ)
def member(session: Session, who: SignedIn, operator_id: str) -> Response:
    """One: what they may, and their sessions."""
    return _one(session, who, operator_id)


@blueprint.post("/members/<operator_id>/invitation")
@with_session(Right.OPERATORS_WRITE)
def invite_anew(session: Session, who: SignedIn, operator_id: str) -> Response:
    """Another link for one who has not been here; the one before it is good for nothing."""
    made, secret = members.invite_anew(session, administrator(who), operator_id)
    return _link(session, who, made, secret)


@blueprint.post("/members/<operator_id>/role")
@with_session(Right.OPERATORS_WRITE)
def give_role(session: Session, who: SignedIn, operator_id: str) -> Response:
    """They are that from now on."""
    role = request.form.get("role", "")
    try:
        members.give_role(session, administrator(who), operator_id, role)
    except ValidationFailed as error:
        return _one(session, who, operator_id, status=422, fault=faults_of(error)["role"])
    except members.LastAdministrator as error:
        return _one(session, who, operator_id, status=409, fault=error.detail)
    return _back(operator_id)


@blueprint.post("/members/<operator_id>/disable")
@with_session(Right.OPERATORS_WRITE)
def disable(session: Session, who: SignedIn, operator_id: str) -> Response:
    """They cannot sign in, and are signed out."""
    try:
        members.disable_member(session, administrator(who), operator_id)
    except members.LastAdministrator as error:
        return _one(session, who, operator_id, status=409, fault=error.detail)
    return _back(operator_id)


@blueprint.post("/members/<operator_id>/enable")
@with_session(Right.OPERATORS_WRITE)
def enable(session: Session, who: SignedIn, operator_id: str) -> Response:
    """They may sign in again."""
    members.enable_member(session, administrator(who), operator_id)
    return _back(operator_id)


@blueprint.post("/members/<operator_id>/sessions/end")
@with_session(Right.OPERATORS_WRITE)
def end_sessions(session: Session, who: SignedIn, operator_id: str) -> Response:
    """All of theirs."""
    members.end_sessions_of(session, administrator(who), operator_id)
    return _back(operator_id)


@blueprint.post("/members/<operator_id>/sessions/<session_id>/end")
@with_session(Right.OPERATORS_WRITE)
def end_session(session: Session, who: SignedIn, operator_id: str, session_id: str) -> Response:
    """One of theirs."""
    members.end_session_of(session, administrator(who), operator_id, session_id)
    return _back(operator_id)


def _told(rule: Rule) -> str:
    """What somebody may by it: the roles' table says more, of services."""
    return rule.meaning.partition(" (a service ")[0].removesuffix(", and no more")


def _back(operator_id: str) -> Response:
    return see(f"/members/{operator_id}")


def _grouped() -> bool:
    """Whether groups of the identity provider say who is what."""
    return bool(house().settings.oidc_groups)


def _form(
    session: Session, who: SignedIn, *, status: int = 200, faults: dict[str, str] | None = None
) -> Response:
    return shell(
        "member_invite.html",
        session,
        who,
        here="members",
        status=status,
        email=request.form.get("email", "")[:254],
        role=request.form.get("role", Role.OPERATOR.value),
        words=WORDS,
        faults=faults or {},
        grouped=_grouped(),
    )


def _link(session: Session, who: SignedIn, made: Operator, secret: str) -> Response:
    return shell(
        "member_link.html",
        session,
        who,
        here="members",
        made=made,
        url=f"{house().settings.public_url}/sign-in/{secret}",
    )


def _one(
    session: Session,
    who: SignedIn,
    operator_id: str,
    *,
    status: int = 200,
    fault: str | None = None,
) -> Response:
    admin = administrator(who)
    found = members.read_member(session, admin, operator_id)
    may_change = may(who.operator.role, Right.OPERATORS_WRITE)
    return shell(
        "member.html",
        session,
        who,
        here="members",
        status=status,
        member=found,
        sessions=members.sessions_of(session, admin, found),
        words=WORDS,
        fault=fault,
        grouped=_grouped(),
        rights=[_told(rule) for rule in RULES.values() if found.operator.role in rule.roles],
        denied=[
            _told(rule)
            for rule in RULES.values()
            if Role.TENANT_ADMIN in rule.roles and found.operator.role not in rule.roles
        ],
        may_change=may_change,
        last_admin=members.is_last_administrator(session, admin, found.operator),
        proof_needed=may_change and not who.recent,
    )
