"""Scopes in the console: the matrix, one agent's form, who loses what, all changes or none, history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from restante.audit.entries import IN_PROCESS
from restante.identity.administrators import Administrator
from restante.identity.grant_replacement import replace_grants
from restante.identity.roles import Role
from tests.console.browsing import Browser, actions, audited, signed_in
from tests.console.well_made import check_light, check_made
from tests.http.callbacks import call_out_to, decided, registered
from tests.http.world import Caller, World, unknown_id, verbs

PREVIEW, APPLY = "/scopes/preview", "/scopes/apply"


@dataclass
class Desk:
    """An admin at his browser, and an agent whose scopes he changes."""

    world: World
    agent: Caller
    admin: Browser

    def change(self, sign: str, scope: str, agent: str | None = None) -> str:
        return f"{sign}{agent or self.agent.id}.{scope}"

    def sends(self, path: str, *changes: str, why: str = "drafting moves", **also: Any) -> Any:
        form = {"csrf": self.admin.token(), "change": list(changes), "why": why, **also}
        return self.admin.post(path, form)  # type: ignore[arg-type]  # a name may come often

    def held(self) -> list[str]:
        """What is granted, as the administration's API says."""
        return list(self.boss.get(f"admin/agents/{self.agent.id}").json["grants"])

    @property
    def boss(self) -> Caller:
        if not hasattr(self, "_boss"):
            self._boss = self.world.service("acme", "boss", ["tenant:agents:read"])
        return self._boss


@pytest.fixture
def desk(world: World) -> Desk:
    agent = world.agent("acme", "laptop", verbs("main", "read", "claim", "publish"))
    return Desk(world, agent, signed_in(world, role=Role.TENANT_ADMIN))


def cells(browser: Browser, agent: str) -> list[str]:
    """What an editable row says of its cells, in words."""
    links = [
        a for a in browser.page.all("a", **{"class": "cell"}) if a.attributes["data-name"] == agent
    ]
    return [a.all("span", **{"class": "unseen"})[0].text.partition(": ")[2] for a in links]


def test_the_matrix_shows_what_is_granted_and_what_comes_through_the_star(desk: Desk) -> None:
    desk.world.agent(
        "acme", "keeper", ["agent:*:read", "agent:main:claim"], scopes=verbs("main", "read")
    )
    desk.admin.get("/scopes")
    check_made(desk.admin.page)
    check_light(desk.admin.page)
    heads = [one.text for one in desk.admin.page.one("thead").all("th")]
    assert heads == ["Agent", "* all", "main", "other"]
    assert cells(desk.admin, "laptop") == ["none", "read, claim, publish", "none"]
    assert cells(desk.admin, "keeper") == ["read", "claim, read through *", "read through *"]
    kinds = [
        i.attributes.get("class")
        for i in desk.admin.page.all("a", **{"class": "cell", "data-project": "main"})[0].all("i")
    ]
    assert kinds == ["through", "on", None, None, None]


def test_agents_are_paged_and_narrowed_by_name_project_and_verb(desk: Desk) -> None:
    for number in range(20):
        desk.world.agent("acme", f"agent-{number:02}", verbs("other", "read"))
    desk.world.agent("acme", "star", ["agent:*:claim"], scopes=verbs("main", "claim"))

    def names(path: str) -> list[str]:
        desk.admin.get(path)
        return [one.all("a")[0].text for one in desk.admin.page.all("th", scope="row")]

    first = names("/scopes")
    rest = names(desk.admin.page.one("a", rel="next").attributes["href"])
    assert [*first, *rest] == [*(f"agent-{n:02}" for n in range(20)), "laptop", "star"]
    assert names("/scopes?verb=claim") == ["laptop", "star"]
    assert names("/scopes?project=main") == ["laptop", "star"]
    assert names("/scopes?project=other&verb=claim") == ["star"]
    assert names("/scopes?name=lap") == ["laptop"]
    assert names("/scopes?name=zed") == []
    assert "No agent whose name begins with zed" in desk.admin.page.text
    assert desk.admin.get("/scopes?page=forged").status_code == 404


def test_more_projects_than_fit_go_on_in_another_view(desk: Desk) -> None:
    desk.world.tenant("wide", *(f"p{number:02}" for number in range(20)))
    desk.world.agent("wide", "w", verbs("p00", "read"))
    browser = signed_in(desk.world, tenant="wide", email="w@example.com")
    seen: list[str] = []
    path: str | None = "/scopes"
    while path:
        browser.get(path)
        seen += [one.text for one in browser.page.one("thead").all("th")[2:]]
        more = [a for a in browser.page.all("a") if a.text == "More projects"]
        path = more[0].attributes["href"] if more else None
    assert seen == [f"p{number:02}" for number in range(20)]


def test_a_form_says_who_would_lose_what_and_nothing_is_done(desk: Desk, bob: Caller) -> None:
    for _ in range(3):
        bob.publish(desk.agent)
    (held,) = desk.agent.claim(limit=1, consumer="laptop-a")
    desk.admin.get(f"/scopes/{desk.agent.id}")
    check_made(desk.admin.page)
    check_light(desk.admin.page)
    ticked = [
        one.attributes["value"]
        for one in desk.admin.page.all("input", name="grant")
        if "checked" in one.attributes
    ]
    assert ticked == verbs("main", "read", "claim", "publish")
    before = len(audited(desk.world))
    data = {
        "csrf": desk.admin.token(),
        "agent": desk.agent.id,
        "shown": ["*", "main", "other"],
        "grant": ["agent:main:read", "agent:main:publish", "agent:other:publish"],
    }
    assert desk.admin.post(PREVIEW, data).status_code == 200  # type: ignore[arg-type]  # as above
    check_made(desk.admin.page)
    text = desk.admin.page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert desk.admin.heading == "2 changes, not applied yet"
    for said in (
        "1 lease in flight will fail.",
        f"laptop-a holds {held['sequence_number']} for",
        "2 pending events in main stay readable; nobody else can claim them.",
        "It can no longer claim or settle its mail in main.",
        "It may send to the 0 other agents of other.",
    ):
        assert said in text, said
    changes = [one.attributes["value"] for one in desk.admin.page.all("input", name="change")]
    assert changes == [
        desk.change("-", "agent:main:claim"),
        desk.change("+", "agent:other:publish"),
    ]
    assert len(audited(desk.world)) == before
    assert "agent:main:claim" in desk.held()


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
        "agent:main:claim withdrawn",
        "agent:other:read given",
        "drafting moves",
    ):
        assert said in newest, said


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


def test_the_matrix_gets_the_part_of_the_page(desk: Desk) -> None:
    answer = desk.sends(PREVIEW, desk.change("-", "agent:main:read"))
    assert answer.text.lstrip().startswith("<!doctype html>")
    form = {"csrf": desk.admin.token(), "change": [desk.change("-", "agent:main:read")]}
    part = desk.admin.post(PREVIEW, form, headers={"HX-Request": "true"})  # type: ignore[arg-type]  # as above
    assert "<html" not in part.text
    assert "HX-Request" in part.headers["Vary"]
    undo = desk.admin.page.one("button", type="button")
    assert undo.attributes["data-undo"] == desk.change("-", "agent:main:read")
    foreign = desk.admin.post(PREVIEW, {"csrf": "x"}, headers={"HX-Request": "true"})
    assert foreign.status_code == 403


def test_streams_and_callbacks_that_lose_are_told(desk: Desk) -> None:
    hooked = desk.world.agent("acme", "hooked", verbs("main", "read", "claim", "callback"))
    admin = desk.world.service("acme", "hooks", ["tenant:callbacks:write"])
    call_out_to(desk.world)
    assert decided(admin, registered(hooked), "approve").status_code == 200
    desk.sends(PREVIEW, desk.change("-", "agent:main:callback", hooked.id))
    assert "Its 1 active callback sends nothing of that any more." in desk.admin.page.text
    desk.sends(PREVIEW, desk.change("-", "agent:main:publish"))
    assert "active callback" not in desk.admin.page.text


def test_a_template_is_ticked_and_saves_nothing(desk: Desk) -> None:
    desk.admin.get(f"/scopes/{desk.agent.id}?project=other&template=keeps")
    ticked = {
        one.attributes["value"]
        for one in desk.admin.page.all("input", name="grant")
        if "checked" in one.attributes
    }
    assert ticked == {
        *verbs("main", "read", "claim", "publish"),
        *verbs("other", "read", "claim", "publish", "memory"),
    }
    assert "agent:other:read" not in desk.held()
    desk.admin.get("/scopes/templates")
    assert "Works and answers" in desk.admin.page.text


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
    assert "Nothing was assigned yet" in rival.page.text
    assert actions(desk.world) == before
    assert "agent:main:claim" in desk.held()
