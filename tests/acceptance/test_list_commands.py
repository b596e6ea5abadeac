"""`restante tenant|project|agent|service|operator list`; their lists are tested on all databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.serving import RestanteCommand


@pytest.fixture
def here(tmp_path: Path) -> RestanteCommand:
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance")}
    made = RestanteCommand(f"sqlite:///{tmp_path / 'mail.db'}", settings=settings)
    made.upgrade()
    return made


def test_what_is_made_is_listed_by_name_and_no_secret_is(here: RestanteCommand) -> None:
    assert here.json("tenant", "list") == {"tenants": [], "next_page_token": None}
    tenant_id = here.create_tenant("acme")
    here.create_tenant("other")
    project_id = here.create_project("acme", "mail")
    bob = here.create_agent("acme", "bob", grants=("agent:mail:read",))
    ann = here.create_agent(tenant_id, "ann")
    here.create_agent("other", "foreign")
    ci = here.create_service("acme", "ci", scopes=("tenant:events:publish",))
    acme, other = here.json("tenant", "list")["tenants"]
    assert (acme["tenant_id"], acme["name"], acme["require_signatures"]) == (
        tenant_id,
        "acme",
        False,
    )
    assert [(t["projects"], t["agents"], t["services"]) for t in (acme, other)] == [
        (1, 2, 1),
        (0, 1, 0),
    ]
    (project,) = here.json("project", "list", "--tenant", "acme")["projects"]
    assert (project["project_id"], project["slug"]) == (project_id, "mail")
    agents = here.json("agent", "list", "--tenant", tenant_id)["agents"]
    assert [a["agent_id"] for a in agents] == [ann["agent_id"], bob["agent_id"]]
    assert agents[0].keys() == {
        *("agent_id", "name", "status", "created_at"),
        *("paused", "capabilities", "last_seen_at"),
    }
    (service,) = here.json("service", "list", "--tenant", "acme")["services"]
    assert (service["service_id"], service["name"]) == (ci["service_id"], "ci")
    removed = here.json("agent", "list", "--tenant", "acme", "--status", "removed")
    assert removed == {"agents": [], "next_page_token": None}
    told = here.text("agent", "list", "--tenant", "acme").splitlines()
    assert [line.split() for line in told] == [
        ["agent_id", "name", "status", "last_seen_at"],
        [ann["agent_id"], "ann", "active", "-"],
        [bob["agent_id"], "bob", "active", "-"],
    ]
    assert here.text("project", "list", "--tenant", "other") == "No projects.\n"


def test_operators_are_listed_by_tenant_and_no_link_is(here: RestanteCommand) -> None:
    here.create_tenant("acme")
    here.create_tenant("other")

    def invited(email: str, role: str, *words: str) -> str:
        return str(
            here.json("operator", "invite", "--email", email, "--role", role, *words)["operator_id"]
        )

    ann = invited("ann@example.com", "tenant_admin", "--tenant", "acme")
    bob = invited("bob@example.com", "operator", "--tenant", "acme")
    above = invited("root@example.com", "platform_admin")
    here.run("operator", "disable", "--email", "bob@example.com", "--json")
    found = here.json("operator", "list", "--tenant", "acme")
    assert [(o["operator_id"], o["role"], o["status"]) for o in found["operators"]] == [
        (ann, "tenant_admin", "invited"),
        (bob, "operator", "disabled"),
    ]
    assert found["operators"][0].keys() == {
        *("operator_id", "email", "role", "status"),
        *("created_at", "signed_in_at", "sessions"),
    }
    (platform,) = here.json("operator", "list")["operators"]
    assert (platform["operator_id"], platform["role"]) == (above, "platform_admin")
    assert here.text("operator", "list", "--tenant", "other") == "No operators.\n"
    first = here.json("operator", "list", "--tenant", "acme", "--limit", "1")
    rest = here.json(
        *("operator", "list", "--tenant", "acme", "--page-token", first["next_page_token"])
    )
    assert [o["operator_id"] for o in rest["operators"]] == [bob]
    assert (
        "page token"
        in here.run("operator", "list", "--page-token", first["next_page_token"]).stderr
    )


def test_a_list_is_bounded_and_goes_on_where_a_page_ended(here: RestanteCommand) -> None:
    for name in ("a", "b", "c"):
        here.create_tenant(name)
    first = here.json("tenant", "list", "--limit", "2")
    assert [t["name"] for t in first["tenants"]] == ["a", "b"]
    token = first["next_page_token"]
    rest = here.json("tenant", "list", "--limit", "2", "--page-token", token)
    assert [t["name"] for t in rest["tenants"]] == ["c"]
    assert rest["next_page_token"] is None
    told = here.run("tenant", "list", "--limit", "1")
    assert len(told.stdout.splitlines()) == 2  # the names of the columns, too
    assert "--page-token" in told.stderr
    for words, code, expected in (
        (("tenant", "list", "--limit", "0"), 2, "--limit"),
        (("tenant", "list", "--limit", "1001"), 2, "--limit"),
        (("tenant", "list", "--page-token", "x"), 1, "page token"),
        (("project", "list", "--tenant", "a", "--page-token", token), 1, "page token"),
        (("agent", "list", "--tenant", "nobody"), 1, "no tenant"),
        (("agent", "list"), 2, "--tenant"),
        (("operator", "list", "--tenant", "nobody"), 1, "no tenant"),
        (("service", "list", "--tenant", "a", "--status", "gone"), 2, "--status"),
    ):
        done = here.run(*words, "--json")
        assert (done.returncode, done.stdout) == (code, ""), words
        assert expected in done.stderr
        assert "Traceback" not in done.stderr
