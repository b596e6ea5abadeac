"""docs/roles.md shows the table that decides, and the table says what the contract does."""

from __future__ import annotations

from restante.identity.roles import RULES, Right, Role, as_table, may
from tests.docs.pages import ROOT


def test_the_page_shows_the_table() -> None:
    page = (ROOT / "docs" / "roles.md").read_text()
    assert page.endswith(f"\n\n{as_table()}\n")


def test_every_right_has_a_rule() -> None:
    assert list(RULES) == list(Right)
    assert all(rule.roles and rule.meaning for rule in RULES.values())


def test_the_roles_are_those_of_the_contract() -> None:
    of = {role: {right for right in Right if may(role, right)} for role in Role}
    # a tenant administrator may all that an operator may, a platform administrator nothing of it
    assert of[Role.OPERATOR] < of[Role.TENANT_ADMIN]
    assert not of[Role.PLATFORM_ADMIN] & of[Role.TENANT_ADMIN]
    assert of[Role.OPERATOR] == {
        *(Right.AGENTS_READ, Right.EVENTS_READ, Right.CALLBACKS_READ, Right.AUDIT_READ),
        *(Right.EVENTS_REDRIVE, Right.EVENTS_DISCARD, Right.EVENTS_CANCEL, Right.DEVICES_APPROVE),
        *(Right.GRANTS_READ, Right.QUARANTINE_READ, Right.ASSIGNMENTS_REASSIGN),
    }
    assert of[Role.PLATFORM_ADMIN] == {
        *(Right.TENANTS_READ, Right.TENANTS_WRITE, Right.PLATFORM_AUDIT_READ)
    }
    # issue 3, part 6: approving webhooks and assigning scopes ask who one is
    assert RULES[Right.CALLBACKS_WRITE].anew
    assert RULES[Right.GRANTS_WRITE].anew
