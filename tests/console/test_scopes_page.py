"""Scopes in the console: the matrix, one agent's form, and who would lose what."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import Browser, audited, signed_in
from tests.console.desk import PREVIEW, Desk
from tests.console.well_made import check_light, check_made
from tests.http.callbacks import call_out_to, decided, registered
from tests.http.world import Caller, World, verbs


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
        "had": ticked,
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


def test_no_form_is_preset_to_all_projects(desk: Desk) -> None:
    wide = desk.world.agent("acme", "wide", [*verbs("main", "read"), *verbs("other", "read")])
    for agent, preset in ((desk.agent, ["main"]), (wide, [])):
        desk.admin.get(f"/scopes/{agent.id}")
        projects = desk.admin.page.one("select", name="project")
        assert "required" in projects.attributes
        chosen = [one.text for one in projects.all("option") if "selected" in one.attributes]
        assert (chosen, projects.all("option")[0].attributes["value"]) == (preset, "")
