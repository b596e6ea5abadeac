"""Scopes changed in the console: all changes or none, with a reason; by whom, and whose."""

from __future__ import annotations

import pytest

from restante.audit.entries import IN_PROCESS
from restante.identity.administrators import Administrator
from restante.identity.grant_replacement import replace_grants
from restante.identity.roles import Role
from tests.console.browsing import actions, audited, signed_in
from tests.console.desk import APPLY, PREVIEW, Desk
from tests.http.world import Caller, World, unknown_id, verbs


@pytest.fixture
def desk(world: World) -> Desk:
    agent = world.agent("acme", "laptop", verbs("main", "read", "claim", "publish"))
    return Desk(world, agent, signed_in(world, role=Role.TENANT_ADMIN))


def test_what_is_applied_holds_is_told_with_its_reason_and_closes_the_way(
    desk: Desk, bob: Caller
) -> None:
    assert "agent:main:claim" in desk.held()
    answer = desk.sends(
        APPLY, desk.change("-", "agent:main:claim"), desk.change("+", "agent:other:read")
    )
    assert (answer.status_code, answer.headers["Location"]) == (303, "/scopes?applied=2")
    assert desk.held() == ["agent:main:publish", "agent:main:read", "agent:other:read"]
    bob.publish(desk.agent)
    assert desk.agent.post("A/inbox/claim", {}).status_code == 403
    told = [
        entry.reason
        for entry in audited(desk.world)
        if (entry.action, entry.target) == ("grant.assign", desk.agent.id)
    ]
    assert told[-3:] == [
        "withdrawn: agent:main:claim",
        "given: agent:other:read",
        "why: drafting moves",
    ]
    desk.admin.get("/scopes?applied=2")
    assert "2 changes applied." in desk.admin.page.text
    desk.admin.get("/scopes/history")
    newest = desk.admin.page.one("ol", **{"class": "panel decisions"}).all("li")[0].text
    for said in (
        "laptop by ops@example.com",
        "withdrawn in main: claim",
        "given in other: read",
        "drafting moves",
    ):
        assert said in newest, said
    told = [one.text for one in desk.admin.page.one("ol", **{"class": "panel decisions"}).all("p")]
    assert "given in main: read, claim, publish" in told  # what it was made with
    assert "given: tenant:agents:read" in told  # of a service, which has a page of its own
    assert desk.admin.page.all("a", href=f"/services/{desk.boss.id}")


def test_what_has_changed_meanwhile_is_said_and_nothing_is_done(desk: Desk) -> None:
    who = Administrator(desk.world.tenants["acme"], IN_PROCESS, role=Role.TENANT_ADMIN, anew=True)
    desk.world.house.database.run(
        lambda s: replace_grants(s, who, desk.agent.id, ["agent:main:read"])
    )
    answer = desk.sends(
        APPLY, desk.change("-", "agent:main:claim"), desk.change("+", "agent:other:read")
    )
    assert answer.status_code == 409
    assert "What is granted has changed since" in desk.admin.page.text
    left = [one.attributes["value"] for one in desk.admin.page.all("input", name="change")]
    assert left == [desk.change("+", "agent:other:read")]
    assert desk.held() == ["agent:main:read"]


@pytest.mark.parametrize("why", ["", "  ", "x" * 481])
def test_changes_without_a_reason_are_none(desk: Desk, why: str) -> None:
    answer = desk.sends(APPLY, desk.change("-", "agent:main:claim"), why=why)
    assert answer.status_code == 422
    assert "Say why" in desk.admin.page.text
    assert "agent:main:claim" in desk.held()


def test_what_is_no_change_is_left_out(desk: Desk) -> None:
    for nonsense in (
        "",
        "+x",
        "+agt_1.agent:main:read",
        desk.change("*", "agent:main:read"),
        desk.change("+", "tenant:audit:read"),
        desk.change("+", "agent:nowhere:read"),
        desk.change("+", "agent:main:everything"),
    ):
        desk.sends(PREVIEW, nonsense)
        assert desk.admin.heading == "Nothing would change", nonsense
        assert desk.sends(APPLY, nonsense).status_code == 422, nonsense
    many = [f"+{desk.agent.id}.agent:main:read"] * 5
    desk.sends(PREVIEW, *many)
    assert desk.admin.heading == "1 change, not applied yet"


def test_who_has_not_just_proved_who_he_is_only_looks(desk: Desk) -> None:
    token = desk.admin.token()
    desk.world.pass_time(601)
    desk.admin.get("/scopes")
    assert not desk.admin.page.all("form", action=APPLY)
    assert desk.admin.page.one("a", href="/sign-in/again?next=/scopes")
    desk.admin.get(f"/scopes/{desk.agent.id}")
    assert not desk.admin.page.all("input", name="grant")
    form = {"csrf": token, "change": desk.change("-", "agent:main:claim"), "why": "x"}
    for path in (PREVIEW, APPLY):
        assert desk.admin.post(path, form).headers["Location"].startswith("/sign-in/again")
    part = desk.admin.post(PREVIEW, form, headers={"HX-Request": "true"})
    assert (part.status_code, part.text) == (401, "")
    assert part.headers["HX-Redirect"].startswith("/sign-in/again")
    assert "agent:main:claim" in desk.held()


def test_wu_038_an_operator_looks_and_is_refused_the_rest(desk: Desk) -> None:
    other = signed_in(desk.world, email="o@example.com")
    other.get("/scopes")
    assert "read, claim, publish" in other.page.text
    assert not other.page.all("a", **{"class": "cell"})
    other.get(f"/scopes/{desk.agent.id}")
    assert "You may look at this, a tenant admin may change it." in other.page.text
    assert not other.page.all("input", name="grant")
    form = {"csrf": other.token(), "change": desk.change("-", "agent:main:claim"), "why": "x"}
    for path in (PREVIEW, APPLY):
        assert other.post(path, form).status_code == 403
    assert "agent:main:claim" in desk.held()


def test_wu_039_agents_of_others_are_as_those_that_never_were(desk: Desk) -> None:
    desk.world.tenant("rival", "main")
    rival = signed_in(desk.world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    before = actions(desk.world)
    for agent in (desk.agent.id, unknown_id("agt")):
        assert rival.get(f"/scopes/{agent}").status_code == 404
        for path in (PREVIEW, APPLY):
            form = {
                "csrf": rival.token(),
                "change": [desk.change("-", "agent:main:claim", agent)],
                "why": "x",
            }
            assert rival.post(path, form).status_code == 404, path  # type: ignore[arg-type]  # as above
            whole = {"csrf": rival.token(), "agent": agent, "shown": ["main"], "why": "x"}
            assert rival.post(path, whole).status_code == 404, path  # type: ignore[arg-type]  # as above
    rival.get("/scopes")
    assert "laptop" not in rival.page.text
    rival.get(f"/scopes/history?agent={desk.agent.id}")
    assert "laptop" not in rival.page.text
    assert "No scope was given yet" in rival.page.text
    assert actions(desk.world) == before
    assert "agent:main:claim" in desk.held()
