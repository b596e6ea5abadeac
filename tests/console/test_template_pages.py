"""Templates of scopes that a tenant keeps: made, or taken from an agent, applied after a preview, removed."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import Browser, audited, signed_in
from tests.console.desk import Desk
from tests.console.well_made import check_light, check_made
from tests.http.world import World, unknown_id, verbs

NEW = "/scopes/templates/new"


@pytest.fixture
def desk(world: World) -> Desk:
    agent = world.agent("acme", "laptop", verbs("main", "read", "claim"))
    return Desk(world, agent, signed_in(world, role=Role.TENANT_ADMIN))


def keep(browser: Browser, name: str, **rules: str) -> str:
    """The path of a new template; rules by pattern (`other`) with verbs behind them."""
    form: dict[str, object] = {"csrf": browser.token(), "name": name}
    for row, (pattern, of) in enumerate(rules.items()):
        form |= {f"pattern-{row}": pattern, f"verb-{row}": of.split()}
    browser.post(NEW, form)  # type: ignore[arg-type]  # a name may come often
    assert browser.answer.status_code == 303, browser.answer.text
    return str(browser.answer.headers["Location"])


def changes(browser: Browser) -> list[str]:
    """What the preview would apply."""
    found = browser.page.all("input", name="change")
    return sorted(one.attributes["value"] for one in found if "checked" in one.attributes)


def test_one_is_kept_applied_after_a_preview_and_removed(desk: Desk) -> None:
    admin, agent = desk.admin, desk.agent
    admin.get("/scopes/templates")
    assert "No template of your own yet" in admin.page.text
    path = keep(admin, "Writer", main="read", other="read publish")
    entry = audited(desk.world)[-1]
    assert (entry.action, entry.target) == ("scope_template.create", path.rpartition("/")[2])
    assert entry.reason == "Writer: main: read; other: read, publish"
    admin.get("/scopes/templates")
    assert "Writer" in admin.page.text
    check_made(admin.page)
    check_light(admin.page)
    admin.get(path)
    check_made(admin.page)
    check_light(admin.page)
    admin.send(f"{path}/apply", agents="laptop\n")
    assert admin.answer.status_code == 200
    assert changes(admin) == [
        f"+{agent.id}.agent:other:publish",
        f"+{agent.id}.agent:other:read",
        f"-{agent.id}.agent:main:claim",
    ]
    assert "It can no longer claim or settle its mail in main." in admin.page.text
    assert desk.held() == ["agent:main:claim", "agent:main:read"]
    form = {**admin.page.form("/scopes/apply"), "change": changes(admin)}
    assert form["why"] == "template Writer"
    admin.post("/scopes/apply", form)  # type: ignore[arg-type]  # a name may come often
    assert admin.answer.headers["Location"] == "/scopes?applied=3"
    assert desk.held() == ["agent:main:read", "agent:other:publish", "agent:other:read"]
    admin.get(path)
    admin.send(f"{path}/remove")
    assert admin.answer.headers["Location"] == "/scopes/templates"
    assert audited(desk.world)[-1].action == "scope_template.remove"
    assert len(desk.held()) == 3
    assert admin.get(path).status_code == 404


def test_what_an_agent_has_is_kept_and_given_to_another_and_nothing_else(desk: Desk) -> None:
    other = desk.world.agent("acme", "desktop", verbs("other", "read"))
    admin = desk.admin
    admin.get(f"/scopes/{desk.agent.id}")
    (link,) = [a for a in admin.page.all("a") if a.text == "Keep as a template…"]
    admin.get(link.attributes["href"])
    check_made(admin.page)
    check_light(admin.page)
    assert admin.page.one("input", name="pattern-0").attributes["value"] == "main"
    ticked = [
        one.attributes["value"]
        for one in admin.page.all("input", name="verb-0")
        if "checked" in one.attributes
    ]
    assert ticked == ["read", "claim"]
    path = keep(admin, "Laptops", main=" ".join(ticked))
    admin.get(f"{path}?agents={other.id}")
    admin.send(f"{path}/apply", alone="yes")
    assert changes(admin) == [
        f"+{other.id}.agent:main:claim",
        f"+{other.id}.agent:main:read",
        f"-{other.id}.agent:other:read",
    ]


def test_one_that_is_removed_is_no_example(desk: Desk) -> None:
    admin, agent = desk.admin, desk.agent
    assert admin.get(f"{NEW}?agent={agent.id}").status_code == 200
    admin.get(f"/inboxes/{agent.id}/remove")
    admin.send(f"/inboxes/{agent.id}/remove", why="gone", typed="laptop")
    assert admin.get(f"{NEW}?agent={agent.id}").status_code == 404


def test_what_is_wrong_is_said_and_nothing_is_kept(desk: Desk) -> None:
    admin = desk.admin
    keep(admin, "Writer", main="read")
    admin.get(NEW)
    admin.send(NEW, step="more", name="x", **{"pattern-3": "docs"})
    rows = [one for one in admin.page.all("input", list="slugs") if one.attributes["value"]]
    assert [one.attributes["name"] for one in rows] == ["pattern-0"]
    for typed, said in (
        ({"name": "Writer", "pattern-0": "main"}, "is taken by another template"),
        ({"name": "", "pattern-0": "main"}, "1 to 190 printable characters"),
        ({"name": "x"}, "must be 1 to 50 projects or patterns"),
        ({"name": "x", "pattern-0": "a b"}, "is no project"),
        ({"name": "x", "pattern-0": "main", "pattern-1": "main"}, "a second time"),
    ):
        admin.get(NEW)
        admin.send(NEW, **typed)
        assert admin.answer.status_code == 422
        assert said in admin.page.one("div", role="alert").text
    admin.get(NEW)
    admin.send(NEW, **{"name": "x", "pattern-0": "main", "verb-0": "fly"})
    assert admin.answer.status_code == 422
    assert "no such verb" in admin.page.one("div", role="alert").text
    path = keep(admin, "Other", other="read")
    for agents in ("", "nobody", "\n".join(f"a{n}" for n in range(21))):
        admin.get(path)
        admin.send(f"{path}/apply", agents=agents)
        assert admin.answer.status_code == 422
    assert len([one for one in audited(desk.world) if one.action == "scope_template.create"]) == 2


def test_wu_039_a_tenants_templates_are_its_own_and_an_operator_makes_none(desk: Desk) -> None:
    world, path = desk.world, keep(desk.admin, "Writer", main="read")
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    rival.get("/scopes/templates")
    assert "Writer" not in rival.page.text
    form = {"csrf": rival.token(), "agents": desk.agent.id}
    absent = f"/scopes/templates/{unknown_id('tpl')}"
    for one in (path, absent, "/scopes/templates/x"):
        assert rival.get(one).status_code == 404
        for step in ("apply", "remove"):
            assert rival.post(f"{one}/{step}", form).status_code == 404
    mine = keep(rival, "Writer", main="read")  # names are the tenant's own
    told = set()
    for agent in (desk.agent.id, unknown_id("agt")):
        rival.post(f"{mine}/apply", {**form, "agents": agent})
        assert rival.answer.status_code == 422
        told.add(rival.page.one("div", role="alert").text.replace(agent, ""))
    assert len(told) == 1
    operator = signed_in(world, email="o@example.com")
    assert operator.get(path).status_code == 200
    assert operator.page.one("main").all("form") == []
    form = {"csrf": operator.token(), "name": "mine", "pattern-0": "main"}
    assert operator.get(NEW).status_code == 403
    for sent in (NEW, f"{path}/apply", f"{path}/remove"):
        assert operator.post(sent, form).status_code == 403
    assert len(audited(world)) > 0
    assert operator.get(path).status_code == 200
