"""Light, dark, or as the reader's system has it: a cookie that says nothing else."""

from __future__ import annotations

from datetime import timedelta

from flask import Blueprint, Response, request

from blueprints.console import cookies, return_path
from blueprints.console.pages import as_it_is, see
from blueprints.console.sessions import LIVE, with_session
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

blueprint = Blueprint("console_theme", __name__)
_LIFE = timedelta(days=365)


@blueprint.post("/theme")
@with_session()
def choose(session: Session, who: SignedIn) -> Response:
    """Set it, or give it up, and go back to where one was; a page that set its own colours stays (204)."""
    there = return_path.ours(request.form.get(return_path.FIELD), most=return_path.LONG)
    answer = as_it_is() if LIVE in request.headers else see(there or return_path.HOME)
    wanted = request.form.get("theme", "")
    if wanted in cookies.THEMES:
        cookies.give(answer, cookies.THEME, wanted, life=_LIFE)
    else:
        cookies.take(answer, cookies.THEME)
    return answer
