"""What is under /api/v1/admin: who calls there, and what its lists have in common."""

from __future__ import annotations

from typing import Annotated

from flask import Blueprint
from pydantic import BeforeValidator, Field

from blueprints.access import Access, any_of
from blueprints.calls import Call
from blueprints.fields import Query, digits
from blueprints.origins import origin_of
from restante.identity.administrators import Administrator
from restante.identity.roles import Right, scopes_of

admin = Blueprint("admin", __name__, url_prefix="/api/v1/admin")

ListLimit = Annotated[
    int, Field(ge=1, le=1000, description="At most so many."), BeforeValidator(digits)
]
PageToken = Annotated[
    str, Field(max_length=2048, description="`next_page_token` of the page before, as it is.")
]


class ListQuery(Query):
    """Which part of a list."""

    limit: ListLimit = 10
    page_token: PageToken | None = None


def having(*rights: Right) -> Access:
    """A service with a scope for one of these rights (docs/roles.md)."""
    return any_of(*dict.fromkeys(scope for right in rights for scope in scopes_of(right)))


def administrator(call: Call) -> Administrator:
    """Who calls, as verbs want it."""
    return Administrator.of_service(call.principal, origin_of(call.request, call.principal))
