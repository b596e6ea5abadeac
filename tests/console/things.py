"""What a tenant has, by the names that routes of the console give it."""

from __future__ import annotations

from sqlalchemy import select

from restante.audit.listing import list_entries
from restante.identity.drafts import Draft, keep_draft
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.operators import operator_session
from tests.console.browsing import operator_of, signed_in
from tests.console.desk import template_of
from tests.http.household import Household, settle_in
from tests.http.world import World

DRAFT = Draft("/members/invite", None, (("email", "new@example.com"),))


def things_of(
    world: World, tenant: str, name: str, *, slug: str
) -> tuple[Household, dict[str, str]]:
    """A household of a tenant that has the project `slug`, and an example of each name."""
    home = settle_in(world, tenant, name)
    event = home.agent.get(f"A/inbox/{home.ids.rejected}").json
    who = operator_of(world, tenant, email=f"{name}@example.com")
    signed_in(world, who)
    session = select(operator_session.c.session_id).where(operator_session.c.operator_id == who.id)
    raw = world.house.database.run(lambda s: s.connection().execute(session).scalar_one())
    return home, {
        "session_id": encode_id(Prefix.SESSION, raw),
        "job_id": home.ids.job_id,
        "signature": event["failure_signature"],
        "event_id": home.ids.event_id,
        "agent_id": home.ids.agent_id,
        "room_id": home.ids.room_id,
        "assignment_id": home.ids.assignment_id,
        "callback_id": home.ids.callback_id,
        "service_id": home.ids.service_id,
        "credential_id": home.ids.service_credential,
        "operator_id": who.public_id,
        "entry_id": entry_of(world, tenant),
        "template_id": template_of(world, tenant),
        "draft_id": world.house.database.run(lambda s: keep_draft(s, who, DRAFT)),
        "slug": slug,
    }


def entry_of(world: World, tenant: str) -> str:
    """An entry of its audit."""
    page = world.house.database.run(lambda s: list_entries(s, world.tenants[tenant], limit=1))
    return page.entries[0].entry_id
