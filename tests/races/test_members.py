"""Two tenant admins who would each leave the other alone: one of them stays, whoever is first."""

from __future__ import annotations

from typing import Any

import pytest

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.identity.administrators import Administrator
from restante.identity.members import LastAdministrator, disable_member, give_role
from restante.identity.operators import Operator, OperatorStatus, invite, operator_by_id
from restante.identity.roles import Role
from restante.identity.sign_in_links import Purpose, make_link, take_link
from tests.factories import Tenant
from tests.races.players import Player
from tests.races.verbs import Work

pytestmark = pytest.mark.servers_only


def boss(tenant: Tenant, name: str) -> Operator:
    """A tenant admin who has signed in."""

    def make(session: Any) -> Operator:
        made = invite(session, tenant.id, email=f"{name}@example.com", role=Role.TENANT_ADMIN)
        take_link(session, make_link(session, made, Purpose.INVITE))
        return operator_by_id(session, made.id)

    return tenant.database.run(make)


def leaving(tenant: Tenant, who: Operator, whom: Operator, verb: str) -> Work:
    by = Origin(Actor(ActorKind.OPERATOR, who.public_id))
    admin = Administrator(tenant.id, by, role=Role.TENANT_ADMIN, anew=True)
    if verb == "disable":
        return lambda session: disable_member(session, admin, whom.public_id)
    return lambda session: give_role(session, admin, whom.public_id, "operator")


@pytest.mark.parametrize("verb", ["disable", "demote"])
@pytest.mark.parametrize("each_other", [True, False])
def test_one_of_two_stays(tenant: Tenant, verb: str, each_other: bool) -> None:  # noqa: FBT001 - a case
    """Each disables the other, or each himself: the second sees that the first is gone, and is refused."""
    ann, ben = boss(tenant, "ann"), boss(tenant, "ben")
    targets = (ben, ann) if each_other else (ann, ben)
    first = Player(tenant.database, leaving(tenant, ann, targets[0], verb), holding=True)
    second = Player(tenant.database, leaving(tenant, ben, targets[1], "disable"))
    second.wait_until_blocked()
    first.commit()
    with pytest.raises(LastAdministrator):
        second.answer()
    now = [tenant.database.run(lambda s, o=o: operator_by_id(s, o.id)) for o in (ann, ben)]
    able = [o.role is Role.TENANT_ADMIN and o.status is OperatorStatus.ACTIVE for o in now]
    assert sum(able) == 1
