"""Proving again who one is, for what takes a fresh proof (roles.Rule.anew); then back to it."""

from __future__ import annotations

from urllib.parse import quote

from flask import Blueprint, Request, Response, request

from blueprints.access import signed_in, states
from blueprints.console import cookies, oidc, return_path
from blueprints.console.kept import FIRST, TYPED, what_of
from blueprints.console.pages import page, see
from blueprints.console.sessions import check, origin_of, with_session
from extensions import house
from restante.errors import NotFound
from restante.identity.drafts import read_draft
from restante.identity.sessions import Method, SignedIn
from restante.identity.sign_in import prove_by_link
from restante.identity.sign_in_links import Refused
from restante.storage.transaction import Session

blueprint = Blueprint("console_again", __name__)
AGAIN = "/sign-in/again"
_KEPT = f"{AGAIN}/kept/"


@blueprint.get(AGAIN)
@with_session()
def ask(session: Session, who: SignedIn) -> Response:
    """How: at the provider, for who came from there; else by a fresh link."""
    return _page(session, who)


@blueprint.post(AGAIN)
@with_session()
def prove(session: Session, who: SignedIn) -> Response:
    """Spend a link of the session's own operator: the same session, under a new cookie."""
    secret = request.form.get("link", "").strip().rpartition("/")[2]
    proved = prove_by_link(session, who, secret, by=origin_of(request, who))
    if isinstance(proved, Refused):
        return _page(session, who, refused=proved, status=403)
    answer = see(_wanted())
    cookies.give(answer, cookies.SESSION, proved)
    return answer


@blueprint.post(f"{AGAIN}/oidc")
@states(signed_in())
def leave() -> Response:
    """Go to the provider, which is told to ask anew."""
    entrance, token = house().entrance, cookies.read(request, cookies.SESSION)
    check(request, token)
    if entrance is None or token is None:
        return see(AGAIN)
    visitor = cookies.read(request, cookies.VISITOR)
    return oidc.go(entrance, visitor, wanted=_wanted(), anew=True)


@blueprint.get(f"{AGAIN}/kept/<draft_id>")
@with_session()
def kept(session: Session, who: SignedIn, draft_id: str) -> Response:
    """What was typed before the proof, to be sent now: nothing of it was done."""
    draft = read_draft(session, who, draft_id)
    what = None if draft is None else what_of(draft)
    if draft is None or what is None:
        raise NotFound
    return page(
        "kept.html",
        signed_in=who,
        cookie=cookies.read(request, cookies.SESSION),
        what=what,
        action=FIRST.get(draft.action, draft.action),
        fields=draft.fields,
        typed=TYPED,
        back=draft.return_path or return_path.HOME,
    )


def to_proof(asked: Request, draft_id: str | None = None) -> str:
    """The page above, which leads back to the form that was kept, or to the page that was asked for."""
    if draft_id is not None:
        wanted = return_path.ours(f"{AGAIN}/kept/{draft_id}")
    elif asked.method == "GET":
        wanted = return_path.ours(asked.full_path.removesuffix("?"))
    else:
        wanted = return_path.came_from(asked)
    return AGAIN if wanted is None else f"{AGAIN}?{return_path.FIELD}={quote(wanted, safe='/')}"


def _page(
    session: Session, who: SignedIn, *, refused: Refused | None = None, status: int = 200
) -> Response:
    entrance = house().entrance
    through = entrance is not None and who.method is Method.OIDC
    return page(
        "again.html",
        status,
        signed_in=who,
        cookie=cookies.read(request, cookies.SESSION),
        provider=entrance.name if through and entrance else None,
        wanted=_wanted(),
        kept=_wanted().startswith(_KEPT),
        what=_what(session, who),
        refused=refused is not None,
    )


def _what(session: Session, who: SignedIn) -> str | None:
    """What the form that was kept does; None: none was."""
    if not _wanted().startswith(_KEPT):
        return None
    draft = read_draft(session, who, _wanted().removeprefix(_KEPT))
    return None if draft is None else what_of(draft)


def _wanted() -> str:
    asked = request.values.get(return_path.FIELD)
    return return_path.ours(asked) or return_path.HOME
