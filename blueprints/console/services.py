"""Services: producers and administrators without an inbox; what they may do, and by what they come in."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.faults import faults_of
from blueprints.console.form_keys import TWICE, keep_made, made_before, new_form_key
from blueprints.console.pages import see
from blueprints.console.service_scopes import FAR, grouped, meaning_of, scopes_in
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from extensions import house
from restante.errors import TooManyKeys, ValidationFailed
from restante.identity.grants import grants_of
from restante.identity.machine_credentials import (
    MOST_SECRETS,
    add_secret,
    list_credentials,
    revoke_credential,
)
from restante.identity.machine_list import MachineStatus, list_machines, read_machine
from restante.identity.machine_status import set_status
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right, may
from restante.identity.service_enrolment import enrol_service
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

blueprint = Blueprint("console_services", __name__)
SERVICES = 50
CREDENTIALS = 50
SERVICE = PrincipalKind.SERVICE


@blueprint.get("/services")
@with_session(Right.AGENTS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """A page of them, by name."""
    asked = request.args
    begins, status = asked.get("name", "").strip()[:190], asked.get("state", type=MachineStatus)
    found = list_machines(
        session,
        administrator(who),
        SERVICE,
        limit=SERVICES,
        token=asked.get("page"),
        status=status,
        begins=begins,
    )
    return shell(
        "services.html",
        session,
        who,
        here="services",
        services=found.machines,
        page_token=found.next_page_token,
        first="page" not in asked,
        begins=begins,
        wanted=status,
        statuses=list(MachineStatus),
        may_create=may(who.operator.role, Right.GRANTS_WRITE),
    )


@blueprint.get("/services/new")
@with_session(Right.GRANTS_WRITE)
def describe(session: Session, who: SignedIn) -> Response:
    """What a new one is called and may do."""
    return _form(session, who)


@blueprint.post("/services/new")
@with_session(Right.GRANTS_WRITE)
def create(session: Session, who: SignedIn) -> Response:
    """A new one, and its secret, this once."""
    name, scopes = request.form.get("name", "").strip(), scopes_in(request.form)
    try:
        made = enrol_service(session, administrator(who), name=name, scopes=scopes)
    except ValidationFailed as error:
        return _form(session, who, status=422, faults=faults_of(error))
    return _secret(session, who, made.public_id, made.client_secret, new=True)


@blueprint.get("/services/<service_id>")
@with_session(Right.AGENTS_READ)
def service(session: Session, who: SignedIn, service_id: str) -> Response:
    """What one may do, and what it proves itself by."""
    return _one(session, who, service_id)


@blueprint.post("/services/<service_id>/credentials")
@with_session(Right.CREDENTIALS_WRITE)
def make_secret(session: Session, who: SignedIn, service_id: str) -> Response:
    """Another secret, this once; the one before it stays good until it is revoked."""
    if made_before(session, who) is not None:
        return _one(session, who, service_id, status=409, fault=TWICE)
    try:
        made = add_secret(session, administrator(who), SERVICE, service_id)
    except TooManyKeys as error:
        return _one(session, who, service_id, status=409, fault=error.detail)
    keep_made(session, who, made.public_id.encode())
    return _secret(session, who, service_id, made.secret or "", new=False)


@blueprint.post("/services/<service_id>/credentials/<credential_id>/revoke")
@with_session(Right.CREDENTIALS_WRITE)
def revoke(session: Session, who: SignedIn, service_id: str, credential_id: str) -> Response:
    """It proves nothing any more."""
    revoke_credential(session, administrator(who), SERVICE, service_id, credential_id)
    return see(f"/services/{service_id}#credentials")


@blueprint.post("/services/<service_id>/disable")
@with_session(Right.AGENTS_WRITE)
def disable(session: Session, who: SignedIn, service_id: str) -> Response:
    """Its tokens end within a second."""
    return _set(session, who, service_id, MachineStatus.DISABLED)


@blueprint.post("/services/<service_id>/enable")
@with_session(Right.AGENTS_WRITE)
def enable(session: Session, who: SignedIn, service_id: str) -> Response:
    """It gets tokens again."""
    return _set(session, who, service_id, MachineStatus.ACTIVE)


@blueprint.post("/services/<service_id>/remove")
@with_session(Right.AGENTS_WRITE)
def remove(session: Session, who: SignedIn, service_id: str) -> Response:
    """For good."""
    return _set(session, who, service_id, MachineStatus.REMOVED)


def _set(session: Session, who: SignedIn, service_id: str, status: MachineStatus) -> Response:
    changed = set_status(session, administrator(who), SERVICE, service_id, status)
    return see(f"/services/{changed.public_id}")


def _form(
    session: Session, who: SignedIn, *, status: int = 200, faults: dict[str, str] | None = None
) -> Response:
    form = request.form
    return shell(
        "service_new.html",
        session,
        who,
        here="services",
        status=status,
        groups=grouped(),
        far=FAR,
        name=form.get("name", "")[:190],
        ticked=form.getlist("scope"),
        more=form.get("more", "")[:4_000],
        faults=faults or {},
    )


def _one(
    session: Session,
    who: SignedIn,
    service_id: str,
    *,
    status: int = 200,
    fault: str | None = None,
) -> Response:
    admin, role = administrator(who), who.operator.role
    found = read_machine(session, admin, SERVICE, service_id)
    held = list_credentials(session, admin, SERVICE, service_id, limit=CREDENTIALS)
    secrets = [one for one in held.credentials if one.kind == "client_secret"]
    return shell(
        "service.html",
        session,
        who,
        here="services",
        status=status,
        service=found,
        scopes=[
            (text, meaning_of(text)) for text in sorted(map(str, grants_of(session, found.id)))
        ],
        credentials=held.credentials,
        fault=fault,
        form_key=new_form_key(),
        room=len(secrets) < MOST_SECRETS,
        may_change=may(role, Right.AGENTS_WRITE),
        may_credentials=may(role, Right.CREDENTIALS_WRITE),
    )


def _secret(
    session: Session, who: SignedIn, service_id: str, secret: str, *, new: bool
) -> Response:
    found = read_machine(session, administrator(who), SERVICE, service_id)
    return shell(
        "service_secret.html",
        session,
        who,
        here="services",
        service=found,
        secret=secret,
        new=new,
        url=house().settings.public_url,
    )
