"""What is under /api/v1/admin, and who calls there."""

from __future__ import annotations

from flask import Blueprint

from blueprints.access import Access, any_of
from blueprints.calls import Call
from blueprints.origins import origin_of
from restante.identity.administrators import Administrator
from restante.identity.roles import Right, scopes_of

admin = Blueprint("admin", __name__, url_prefix="/api/v1/admin")


def having(*rights: Right) -> Access:
    """A service with a scope for one of these rights (docs/roles.md)."""
    return any_of(*dict.fromkeys(scope for right in rights for scope in scopes_of(right)))


def administrator(call: Call) -> Administrator:
    """Who calls, as verbs want it."""
    return Administrator.of_service(call.principal, origin_of(call.request, call.principal))
