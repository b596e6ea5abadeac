"""A served Restante with everything that pages show: agents, mail, a wave of failures, history."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext
from sqlalchemy import delete, insert, update
from sqlalchemy.orm import Session

from restante.audit.entries import Origin
from restante.identity.operators import Operator, invite
from restante.identity.roles import Role
from restante.identity.sessions import Method, begin_session
from restante.sampling.depths import depths
from restante.sampling.history import KEPT, slot_of
from restante.sampling.inbox_history import SLOT, SLOTS, write_depths
from restante.storage.clock import database_now
from restante.storage.tables.operation import DELIVERED_CLASSES, tenant_history
from restante.storage.tables.operators import operator
from tests.console.desk import template_of
from tests.http.callbacks import call_out_to, decided, registered
from tests.http.world import ALL_VERBS, Caller, World, open_world, verbs
from tests.support.serving import RestanteCommand, Served

TENANT = "Alder Freight"
COOKIE = "restante-session"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
PROJECTS = ("customs", "billing", "dispatch", "support", "research")
SERVES = ["tenant:events:publish", "tenant:quarantine:read", "tenant:quarantine:write"]
SERVES += ["tenant:callbacks:read", "tenant:callbacks:write", "tenant:agents:read"]
AGENTS = {
    "customs-classifier": "customs",
    "invoice-reconciler": "billing",
    "night-batch": "billing",
    "translator-eu": "support",
    "route-planner": "dispatch",
    "support-drafter": "support",
    "report-writer": "research",
}
A_TURN = 500
NEAR = "localhost:8443"
"""Where a callback may be approved that no name server has to know; nobody is there."""


@dataclass
class Furnished:
    """What is there; `ids` by the names that routes give them."""

    served: Served
    world: World
    operators: dict[Role, Operator] = field(default_factory=dict)
    agents: dict[str, Caller] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    boss: Caller | None = None

    def run(self, work: Any) -> Any:
        return self.world.house.database.run(work)

    def context(
        self, browser: Browser, role: Role = Role.TENANT_ADMIN, **how: Any
    ) -> BrowserContext:
        """A browser in which an operator of that role has just signed in."""
        who = self.operators[role]
        by = Origin(who.actor, "192.0.2.17")
        token = self.run(
            lambda s: begin_session(s, who, method=Method.LINK, user_agent=FIREFOX, by=by)
        )
        context = browser.new_context(base_url=self.served.url, **how)
        context.add_cookies([{"name": COOKIE, "value": token, "url": self.served.url}])
        return context


@contextmanager
def furnished(
    url: str, folder: Path, *, full: bool = True, poison: int = 120
) -> Iterator[Furnished]:
    """Serve a database that has no tables yet; `poison`: how many events fail by one cause."""
    settings = {
        "RESTANTE_INSTANCE": str(folder / "instance"),
        "RESTANTE_HEARTBEAT_SECONDS": "2",  # streams are checked at every one
        "RESTANTE_EGRESS_ALLOW": NEAR,
    }
    RestanteCommand(url, settings=settings).upgrade()
    served = Served(url, log=folder / "serve.log", settings=settings)
    try:
        served.wait_until_ready()
        with open_world(url, {"public_url": served.url, "egress_allow": NEAR}) as world:
            one = Furnished(served, world)
            _settle(one)
            if full:
                _fill(one, poison)
            yield one
    finally:
        served.process.kill_group()


def _settle(one: Furnished) -> None:
    world = one.world
    world.tenant(TENANT, *PROJECTS)
    tenant_id = world.tenants[TENANT]
    for role, whose in (
        (Role.OPERATOR, tenant_id),
        (Role.TENANT_ADMIN, tenant_id),
        (Role.PLATFORM_ADMIN, None),
    ):
        email = f"{role.value.replace('_', '-')}@example.com"
        who = one.run(lambda s, i=whose, e=email, r=role: invite(s, i, email=e, role=r))
        one.operators[role] = who
    active = update(operator).values(status="active")
    one.run(lambda s: s.connection().execute(active))


def _fill(one: Furnished, poison: int) -> None:
    world = one.world
    for name, project in AGENTS.items():
        one.agents[name] = world.agent(TENANT, name, verbs(project, *ALL_VERBS, "callback"))
    boss = one.boss = world.service(TENANT, "alder-erp", SERVES)
    clerk, planner = one.agents["invoice-reconciler"], one.agents["route-planner"]
    waits = publications(clerk, "billing", "invoice.reconcile", poison)
    send(boss, waits)
    fail(clerk, poison, 'E_SCHEMA: missing field "currency"')
    send(boss, publications(clerk, "billing", "invoice.reconcile", 3))
    fail(clerk, 3, "E_TIMEOUT: the ledger did not answer")
    for number, (name, agent) in enumerate(one.agents.items()):
        send(boss, publications(agent, AGENTS[name], f"{AGENTS[name]}.updated", 3 + 7 * number))
    held = planner.claim(limit=3, lease_seconds=43_200)
    done = {"claim_generation": 1, "result": {"route": "A7"}}
    answer = planner.post(f"A/inbox/{held[0]['event_id']}/ack", done)
    assert answer.status_code == 200, answer.text
    put = {"json": {"value": {"tone": "friendly", "seen": 3}}}
    drafter = one.agents["support-drafter"]
    assert drafter.call("PUT", "A/memory/support/style/guide", **put).status_code == 200
    members = [drafter.id, one.agents["translator-eu"].id]
    room = drafter.post("rooms", {"project": "support", "name": "front desk", "members": members})
    drafter.post(f"rooms/{room.json['room_id']}/posts", {"content": "Who takes the Lisbon case?"})
    work = {"project": "support", "candidates": members[1:], "payload": {"case": 17}}
    assigned = drafter.post("assignments", work)
    drafter.post("assignments", {"project": "support", "capability": "sign", "payload": {}})
    call_out_to(world)
    callback_id = registered(clerk, mode="notify", url="https://hooks.example.com/mail")
    unwanted = registered(drafter, mode="notify", url="https://elsewhere.example.net/mail")
    wanted = registered(one.agents["translator-eu"], mode="notify", url=f"https://{NEAR}/mail")
    active = registered(planner, mode="deliver", url="https://push.example.com/restante")
    assert decided(boss, active, "approve").status_code == 200
    one.run(lambda s: _remember(s, world.tenants[TENANT]))
    group = boss.get("admin/quarantine").json["groups"][0]
    one.ids |= {
        "agent_id": clerk.id,
        "event_id": group["sample"]["event_id"] if "sample" in group else held[1]["event_id"],
        "signature": group["failure_signature"],
        "room_id": room.json["room_id"],
        "assignment_id": assigned.json["assignment_id"],
        "callback_id": callback_id,
        "unwanted": unwanted,
        "wanted": wanted,
        "service_id": boss.id,
        "template_id": template_of(world, TENANT, "billing"),
        "slug": "billing",
    }


def publications(agent: Caller, project: str, type_: str, count: int) -> list[dict[str, Any]]:
    """So many for one inbox."""
    said = {"recipients": [agent.id], "project": project, "type": type_}
    return [
        {**said, "payload": {"number": number, "amount": 1200 + number}, "max_attempts": 5}
        for number in range(count)
    ]


def send(producer: Caller, many: list[dict[str, Any]]) -> None:
    """Publish them."""
    for start in range(0, len(many), A_TURN):
        answer = producer.post("events", {"events": many[start : start + A_TURN]})
        assert answer.status_code == 201, answer.text


def fail(agent: Caller, count: int, reason: str) -> None:
    """The agent rejects so many."""
    for start in range(0, count, A_TURN):
        taken = agent.claim(limit=min(A_TURN, count - start), lease_seconds=600)
        rejected = [
            {
                "event_id": event["event_id"],
                "claim_generation": event["claim_generation"],
                "reason": reason,
            }
            for event in taken
        ]
        answer = agent.post("A/inbox/turn", {"reject": rejected})
        assert answer.status_code == 200, answer.text


def _remember(session: Session, tenant_id: bytes) -> None:
    """A day and a month of history that anybody could have had; some agents were there just now."""
    now = database_now(session)
    connection = session.connection()
    sampled = tenant_history.c.tenant_id == tenant_id  # by the house, while it was furnished
    connection.execute(delete(tenant_history).where(sampled))
    for span_seconds, kept in KEPT.items():
        span = timedelta(seconds=span_seconds)
        last = slot_of(now, span_seconds)
        count = min(kept // span, 1_500) - 1
        rows, arrived = [], 10_000
        for number in range(count, -1, -1):
            at = last - number * span
            day = math.cos((at.hour + at.minute / 60 - 13) / 24 * math.tau)
            many = round((500 + 320 * day + 25 * math.sin(number * 1.7)) * span_seconds / 60)
            arrived += many
            burning = number * span_seconds < 15_000
            delivered = [0] * DELIVERED_CLASSES
            for place, share in ((5, 0.3), (6, 0.35), (7, 0.2), (9, 0.1), (10 + burning, 0.05)):
                delivered[place] = round(many * share * (0.9 if burning else 1))
            rows.append(
                {
                    "tenant_id": tenant_id,
                    "span_seconds": span_seconds,
                    "slot_at": at,
                    "keep_until": at + kept,
                    "pending": 300 + (4_000 - number * span_seconds // 60 if burning else 40),
                    "oldest_pending_seconds": 900.0 + 60 * (number % 7),
                    "claimed": 190 + number % 37,
                    "quarantined": 8 + (5_200 - number * span_seconds // 3 if burning else 0),
                    "arrived": arrived,
                    "lease_expirations": number % 5 + (12 if burning and number < 20 else 0),
                    "quarantinings": max(0, 55 - number // 4) if burning else 0,
                    **{f"delivered_{place}": n for place, n in enumerate(delivered)},
                }
            )
        for start in range(0, len(rows), 200):
            connection.execute(insert(tenant_history), rows[start : start + 200])
    lie, _ = depths(session, b"")
    for number in range(SLOTS):
        some = [
            replace(
                one,
                pending=round(one.pending * (0.6 + 0.4 * math.cos(number / (4 + one.head % 7)))),
            )
            for one in lie
        ]
        write_depths(session, now - number * SLOT, some)
