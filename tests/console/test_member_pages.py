"""Members in the console: a link shown once, roles, disabling and its undoing, sessions of others."""

from __future__ import annotations

import pytest

from restante.identity.operators import Operator
from restante.identity.roles import Role
from tests.console.browsing import Browser, actions, audited, operator_of, signed_in
from tests.http.world import World, unknown_id

ACTS = (
    "invitation",
    "role",
    "disable",
    "enable",
    "sessions/end",
    f"sessions/{unknown_id('ses')}/end",
)


@pytest.fixture
def boss(world: World) -> Operator:
    return operator_of(world, role=Role.TENANT_ADMIN, email="boss@example.com")


@pytest.fixture
def admin(world: World, boss: Operator) -> Browser:
    return signed_in(world, boss)


def test_who_is_invited_comes_in_by_the_link_that_is_shown_once(
    world: World, admin: Browser
) -> None:
    base = world.house.settings.public_url
    admin.get("/members/invite")
    answer = admin.send("/members/invite", email="New@example.com", role="operator")
    assert answer.headers["Cache-Control"] == "no-store"
    first = admin.page.one("p", id="link").text
    assert actions(world)[-2:] == [("operator.invite", "done"), ("link.create", "done")]
    admin.get("/members")
    emails = [one.text for one in admin.page.all("th", scope="row")]
    assert emails == ["boss@example.com", "new@example.com"]
    path = next(a.attributes["href"] for a in admin.page.all("a") if a.text == "new@example.com")
    admin.get(path)
    assert "This member has not come in yet." in admin.page.text
    admin.send(f"{path}/invitation")
    second = admin.page.one("p", id="link").text
    assert first.rpartition("/")[2] not in admin.answer.text
    assert Browser(world).get(first.removeprefix(base)).status_code == 404
    new, path_in = Browser(world), second.removeprefix(base)
    new.get(path_in)
    token = new.page.one("input", name="csrf").attributes["value"]
    assert new.post(path_in, {"csrf": token}).status_code == 303
    assert admin.post(f"{path}/invitation", {"csrf": admin.token()}).status_code == 404
    # sent again, it changes nothing
    count = len(audited(world))
    form = {"csrf": admin.token(), "email": "new@example.com", "role": "tenant_admin"}
    assert admin.post("/members/invite", form).status_code == 422
    assert "already" in admin.page.one("p", id="fault-email").text
    for typed in ({"email": "no address"}, {"email": "p@example.com", "role": "platform_admin"}):
        assert admin.post("/members/invite", {**form, **typed}).status_code == 422
    assert len(audited(world)) == count


def test_a_role_is_changed_and_he_comes_back_as_that(world: World, admin: Browser) -> None:
    staff = operator_of(world)
    his = signed_in(world, staff)
    path = f"/members/{staff.public_id}"
    admin.get(path)
    assert admin.send(f"{path}/role", role="tenant_admin").headers["Location"] == path
    assert audited(world)[-1].reason == "operator is now tenant_admin"
    assert his.get("/overview").headers["Location"].startswith("/sign-in")
    his.signs_in(staff)
    assert his.get("/settings").status_code == 200
    assert admin.post(f"{path}/role", {"csrf": admin.token(), "role": "king"}).status_code == 422


def test_disabling_and_enabling_again(world: World, admin: Browser) -> None:
    staff = operator_of(world)
    his = signed_in(world, staff)
    path = f"/members/{staff.public_id}"
    admin.get(path)
    assert "1 session ends at once" in admin.page.text
    admin.send(f"{path}/disable")
    assert actions(world)[-1] == ("operator.disable", "done")
    assert his.get("/account").status_code == 303
    admin.get(path)
    assert "This member is disabled." in admin.page.text
    admin.send(f"{path}/enable")
    assert actions(world)[-1] == ("operator.enable", "done")
    assert his.signs_in(staff).status_code == 303


def test_the_last_admin_cannot_lock_the_tenant_out(
    world: World, admin: Browser, boss: Operator
) -> None:
    operator_of(world, role=Role.TENANT_ADMIN, email="invited@example.com")
    path = f"/members/{boss.public_id}"
    for act, form in (("disable", {}), ("role", {"role": "operator"})):
        admin.get(path)
        answer = admin.post(f"{path}/{act}", {"csrf": admin.token(), **form})
        assert answer.status_code == 409
        assert "nobody left to administer it" in admin.page.text
        entry = audited(world)[-1]
        assert (entry.target, entry.outcome) == (boss.public_id, "refused")
    assert admin.get("/members").status_code == 200


def test_sessions_of_another_end_one_or_all(world: World, admin: Browser) -> None:
    staff = operator_of(world)
    browsers = [signed_in(world, staff) for _ in range(3)]
    path = f"/members/{staff.public_id}"

    def alive() -> int:
        return sum(one.get("/overview").status_code == 200 for one in browsers)

    admin.get(path)
    ends = [
        f.attributes.get("action", "") for f in admin.page.all("form") if "/sessions/ses_" in str(f)
    ]
    assert len(ends) == 3
    admin.send(ends[0])
    assert alive() == 2
    admin.get(path)
    admin.send(f"{path}/sessions/end")
    assert alive() == 0
    assert actions(world)[-3:] == [("session.revoke", "done")] * 3
    admin.get(path)
    assert "No session is open." in admin.page.text


def test_wu_039_members_of_others_are_as_those_that_never_were(
    world: World, admin: Browser
) -> None:
    world.tenant("rival", "main")
    theirs = operator_of(world, "rival", email="r@example.com")
    platform = operator_of(world, None, role=Role.PLATFORM_ADMIN, email="p@example.com")
    form, count = {"csrf": admin.token()}, len(audited(world))
    for named in (theirs.public_id, platform.public_id, unknown_id("opr"), "x"):
        assert admin.get(f"/members/{named}").status_code == 404
        for act in ACTS:
            answer = admin.post(f"/members/{named}/{act}", {**form, "role": "operator"})
            assert (answer.status_code, admin.heading) == (404, "There is nothing here"), act
    assert len(audited(world)) == count
    admin.get("/members")
    assert "r@example.com" not in admin.answer.text


def test_wu_038_an_operator_has_no_members_to_see_or_change(world: World, boss: Operator) -> None:
    browser = signed_in(world)
    form = {"csrf": browser.token()}
    for path in ("/members", f"/members/{boss.public_id}", "/members/invite"):
        assert browser.get(path).status_code == 403, path
    for act in ACTS:
        answer = browser.post(f"/members/{boss.public_id}/{act}", form)
        assert (answer.status_code, actions(world)[-1]) == (403, ("request.refuse", "refused"))
