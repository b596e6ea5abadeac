"""What the tenant has set for itself."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from blueprints.admin.blueprint import admin, administrator, having
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, integral
from restante.identity.browser_origins import MOST_ORIGINS
from restante.identity.roles import Right
from restante.identity.tenant_settings import MOST_PENDING, change_settings, read_settings
from restante.inbox.redaction import MOST_RULES, RULE_LENGTH
from restante.storage.transaction import Session

TAG = "Administration"

_Origin = Annotated[
    str,
    Field(
        max_length=300,
        description="As browsers send it: https, host, and the port where it is not 443; nothing after it. "
        "http only for this machine itself.",
    ),
]
_Rule = Annotated[str, Field(max_length=RULE_LENGTH, description="A JSON Pointer.")]
_Pending = Annotated[int, Field(ge=1, le=MOST_PENDING), BeforeValidator(integral)]


class TenantChange(Body):
    """Those named are set, the others stay. `max_pending: null` ends the tenant's own limit."""

    require_signatures: bool | None = None
    allowed_origins: Annotated[list[_Origin], Field(max_length=MOST_ORIGINS)] | None = None
    max_pending: _Pending | None = None
    redacted_paths: Annotated[list[_Rule], Field(max_length=MOST_RULES)] | None = None


class Tenant(Answer):
    """The tenant of whoever asks."""

    tenant_id: str
    name: str
    require_signatures: bool = Field(description="Agents sign what changes something (RFC 9421).")
    allowed_origins: list[str] = Field(
        description="Origins whose pages may read what its agents are answered."
    )
    max_pending: int | None = Field(
        description="Unsettled events in all of its inboxes; beyond it publishing is 429. null: no limit."
    )
    redacted_paths: list[str] = Field(
        description="What operators of the console are not shown of payloads, administrators excepted."
    )


TENANT: dict[str, Any] = {
    "tenant_id": "ten_0198c5a1f3da7b28a0b2c4d6e8f01234",
    "name": "acme",
    "require_signatures": True,
    "allowed_origins": ["https://app.example.com"],
    "max_pending": None,
    "redacted_paths": ["/customer/iban", "/lines/*/price"],
}


@Endpoint(
    method="GET",
    access=having(Right.SETTINGS_WRITE),
    tag=TAG,
    summary="Read the tenant's settings",
    description="Those of the tenant that the token is of.",
    answer=Tenant,
    answer_examples={"plain": TENANT},
).route(admin, "/tenant")
def read_tenant(session: Session, call: Call) -> Reply:
    """As they are."""
    return Reply(read_settings(session, administrator(call)).told())


@Endpoint(
    method="PATCH",
    access=having(Right.SETTINGS_WRITE),
    tag=TAG,
    summary="Change the tenant's settings",
    description="Every server goes by them within a second. `require_signatures` is about the agents' unsafe "
    "methods. `allowed_origins` are the pages that browsers let read answers of `/api/v1` (but not of "
    f"`/api/v1/admin`) to this tenant's tokens: at most {MOST_ORIGINS}, compared exactly, no `*`. "
    "`max_pending` is a limit of all inboxes together. `redacted_paths` are JSON Pointers, `*` for every "
    "member or element; the API's answers are not redacted.",
    body=TenantChange,
    examples={
        "pages": {"allowed_origins": ["https://app.example.com", "http://localhost:3000"]},
        "a limit": {"max_pending": 500000, "require_signatures": True},
        "no limit": {"max_pending": None},
        "redaction": {"redacted_paths": ["/customer/iban", "/lines/*/price"]},
    },
    answer=Tenant,
    answer_examples={"changed": TENANT},
).route(admin, "/tenant")
def change_tenant(session: Session, call: Call) -> Reply:
    """Set those named."""
    body: TenantChange = call.body
    changes = {
        name: value
        for name in body.model_fields_set
        # only a limit can be nothing; any other member that is null is one that is left out
        if (value := getattr(body, name)) is not None or name == "max_pending"
    }
    return Reply(change_settings(session, administrator(call), changes).told())
