"""Somebody with everything that routes name, for the walks over the URL map."""

from __future__ import annotations

from dataclasses import dataclass

from tests.http.callbacks import call_out_to, decided, registered
from tests.http.walk import ALL_TENANT, ALL_VERBS, Ids, Route
from tests.http.world import Caller, World, verbs


@dataclass(frozen=True)
class Household:
    """An agent of a tenant with everything that routes name, and a service that administers it."""

    agent: Caller
    boss: Caller
    ids: Ids

    def caller(self, route: Route) -> Caller:
        """Who calls it, if it is to succeed."""
        return self.boss if route.administers else self.agent


def settle_in(world: World, tenant: str, name: str) -> Household:
    """A household of that tenant, which must not want signatures yet."""
    one = world.agent(tenant, name, verbs("main", *ALL_VERBS))
    other = world.agent(tenant, f"{name}-other", verbs("main", *ALL_VERBS))
    boss = world.service(tenant, f"{name}-boss", ALL_TENANT)
    worker = world.service(tenant, f"{name}-worker", ["tenant:agents:read"])
    rejected, claimed, waiting = (one.publish(one)[0]["event_id"] for _ in range(3))
    one.claim(limit=2, consumer="c", lease_seconds=43_200)
    refusal = {"claim_generation": 1, "reason": "no"}
    assert one.post(f"A/inbox/{rejected}/reject", refusal).status_code == 200
    room = one.post("rooms", {"project": "main", "name": name, "members": [one.id]})
    assert one.call("PUT", "A/memory/main/some/key", json={"value": {}}).status_code == 200
    work = {"project": "main", "candidates": [other.id], "payload": {}}
    assigned = one.post("assignments", work)
    assert assigned.status_code == 201, assigned.text
    call_out_to(world)
    waiting_one, active, suspended = (
        registered(one, mode="notify", url=f"https://{name}.example.com/{number}")
        for number in range(3)
    )
    for which, step in ((active, "approve"), (suspended, "approve"), (suspended, "suspend")):
        assert decided(boss, which, step).status_code == 200
    wanted = {"event_ids": [rejected], "reason": "later", "stagger_seconds": 600}
    job = boss.post("admin/quarantine/redrive", wanted)
    assert job.status_code in (200, 201, 202), job.text
    credentials = [
        boss.get(f"admin/{kind}/{whose.id}/credentials").json["credentials"][0]["credential_id"]
        for kind, whose in (("agents", one), ("services", worker))
    ]
    ids = Ids(
        agent_id=one.id,
        other=other.id,
        event_id=waiting,
        claimed=claimed,
        rejected=rejected,
        key_id=one.post("A/signing-keys", {}).json["key_id"],
        room_id=room.json["room_id"],
        job_id=job.json["job_id"],
        assignment_id=assigned.json["assignment_id"],
        callback_id=waiting_one,
        active=active,
        suspended=suspended,
        service_id=worker.id,
        agent_credential=credentials[0],
        service_credential=credentials[1],
    )
    return Household(one, boss, ids)
