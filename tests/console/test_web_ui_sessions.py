"""Sessions in the browser: their cookies, how they begin and end, and the list of one's own."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from restante.identity.sessions import list_sessions
from tests.console.browsing import SESSION, Browser, actions, audited, operator_of, signed_in
from tests.http.world import Caller, World


def is_in(browser: Browser, cookie: str) -> bool:
    """Tell whether that cookie, kept by somebody, still opens a page."""
    thief = Browser(browser.world)
    thief.client.set_cookie(SESSION, cookie, domain="127.0.0.1")
    return thief.get("/account").status_code == 200


def test_wu_013_a_session_that_was_there_before_is_not_gone_on_with(world: World) -> None:
    who = operator_of(world)
    browser = Browser(world)
    planted = "rsts_" + "a" * 43
    browser.client.set_cookie(SESSION, planted, domain="127.0.0.1")
    browser.signs_in(who)
    first = browser.cookie()
    assert first is not None
    assert first != planted
    assert not is_in(browser, planted)
    browser.signs_in(who)
    second = browser.cookie()
    assert second not in (None, first)
    assert not is_in(browser, first), "the one before ended"
    assert is_in(browser, str(second))


def flags(header: str) -> set[str]:
    return {part.strip().lower() for part in header.split(";")[1:]}


def test_wu_014_cookies_on_loopback(world: World) -> None:
    browser = Browser(world)
    browser.get("/device?user_code=X")
    browser.get(browser.answer.headers["Location"])
    given = browser.answer.headers.getlist("Set-Cookie")
    browser.signs_in(operator_of(world))
    given += browser.answer.headers.getlist("Set-Cookie")
    browser.post("/sign-out", {"csrf": browser.token()})
    given += browser.answer.headers.getlist("Set-Cookie")
    assert len(given) >= 4
    for header in given:
        assert {"httponly", "samesite=lax", "path=/"} <= flags(header), header
        assert "secure" not in flags(header)
        assert "domain" not in header.lower()


class TestOnHttps:
    """The same server under the address that it has in production."""

    @pytest.fixture
    def settings(self) -> dict[str, object]:
        return {"public_url": "https://inbox.example.com"}

    def test_wu_014_cookies_are_the_hosts_own(self, world: World) -> None:
        browser = Browser(world)
        browser.get("/sign-in?next=/device")
        given = browser.answer.headers.getlist("Set-Cookie")
        assert browser.signs_in(operator_of(world)).headers["Location"] == "/device"
        given += browser.answer.headers.getlist("Set-Cookie")
        assert len(given) == 4
        for header in given:
            assert header.startswith("__Host-"), header
            assert {"secure", "httponly", "samesite=lax", "path=/"} <= flags(header), header
            assert "domain" not in header.lower()

    def test_wu_014_a_cookie_without_the_prefix_is_none(self, world: World) -> None:
        """Another host of the domain can plant one; it cannot plant a `__Host-` one."""
        browser = signed_in(world)
        kept = browser.client.get_cookie(f"__Host-{SESSION}", domain="inbox.example.com")
        assert kept is not None
        other = Browser(world)
        other.client.set_cookie(SESSION, kept.value, domain="inbox.example.com")
        assert other.get("/account").status_code == 303


def test_wu_015_signing_out_ends_the_session_on_the_server(world: World) -> None:
    browser = signed_in(world)
    kept = str(browser.cookie())
    assert browser.post("/sign-out", {"csrf": browser.token()}).status_code == 303
    assert browser.cookie() is None
    assert not is_in(browser, kept)
    assert actions(world)[-1] == ("session.end", "done")


def test_wu_015_one_session_or_all_others_end_from_the_list(world: World) -> None:
    who = operator_of(world)
    here, there, elsewhere, nowhere = (signed_in(world, who) for _ in range(4))
    stranger = signed_in(world, email="b@example.com")
    listed = world.house.database.run(lambda s: list_sessions(s, who.id))
    assert len(listed) == 4
    here.get("/account")
    rows = here.page.one("tbody").all("tr")
    assert len(rows) == 4
    assert ["this browser" in row.text for row in rows] == [True, False, False, False]
    ends = [form.attributes["action"] for form in here.page.one("tbody").all("form")]
    assert all(session.public_id in " ".join(ends) for session in listed[:3])
    assert here.send(ends[0]).headers["Location"] == "/account"
    assert [is_in(here, str(b.cookie())) for b in (here, there, elsewhere, nowhere)] == [
        True,
        True,
        True,
        False,
    ]
    own = {"csrf": stranger.token()}
    assert stranger.post(ends[1], own).status_code == 404, "another's"
    assert stranger.post("/account/sessions/ses_nonsense/revoke", own).status_code == 404
    here.get("/account")
    assert "End the 2 others" in here.page.buttons()
    here.send("/account/sessions/revoke-others")
    assert [is_in(here, str(b.cookie())) for b in (here, there, elsewhere)] == [True, False, False]
    assert is_in(stranger, str(stranger.cookie()))
    told = [(entry.actor_id, entry.reason) for entry in audited(world)[-3:]]
    assert told == [(who.public_id, who.email)] * 3
    assert actions(world)[-3:] == [("session.revoke", "done")] * 3
    here.get("/account")
    assert here.page.buttons() == ["Sign out"]


def test_the_list_says_where_and_when(world: World) -> None:
    who = operator_of(world, role=Role.TENANT_ADMIN)
    browser = Browser(world, address="2001:db8::7")
    browser.client.environ_base["HTTP_USER_AGENT"] = "Phone/1 (Tunnel)"
    browser.signs_in(who)
    browser.get("/account")
    cells = [cell.text for cell in browser.page.one("tbody") if cell.tag in ("th", "td")]
    assert cells[:2] == ["Phone/1 (Tunnel)", "2001:db8::7"]
    assert [time.attributes["datetime"][-1] for time in browser.page.all("time")] == ["Z", "Z"]


def test_wu_016_idle_and_too_long_are_signed_out(world: World) -> None:
    browser = signed_in(world)
    for _ in range(36):
        world.pass_time(19 * 60)
        assert browser.get("/account").status_code == 200
    world.pass_time(1_900)
    assert browser.get("/account").headers["Location"] == "/sign-in?next=/account"
    idle = signed_in(world, email="b@example.com")
    world.pass_time(30 * 60 + 1)
    assert idle.get("/account").status_code == 303
    long = signed_in(world, email="c@example.com")
    for _ in range(37):
        world.pass_time(19.4 * 60)
        assert long.get("/account").status_code == 200
    world.pass_time(3 * 60)
    assert long.get("/account").status_code == 303, "twelve hours, however much it was used"


def test_wu_017_a_part_of_a_page_without_a_session_sends_the_page_away(world: World) -> None:
    browser = signed_in(world)
    kept = str(browser.cookie())
    browser.post("/sign-out", {"csrf": browser.token()})
    browser.client.set_cookie(SESSION, kept, domain="127.0.0.1")
    for path in ("/account", "/device"):
        answer = browser.get(path, headers={"HX-Request": "true"})
        assert (answer.status_code, answer.data) == (401, b"")
        assert answer.headers["HX-Redirect"] == "/sign-in"
        assert "Location" not in answer.headers


def test_wu_026_history_is_not_restored_for_who_is_signed_out(world: World) -> None:
    restoring = {"HX-History-Restore-Request": "true", "HX-Request": "true"}
    answer = Browser(world).get("/account", headers=restoring)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in?next=/account")
    page = signed_in(world).get("/account", headers=restoring)
    assert page.text.startswith("<!doctype html>")


def test_wu_025_nothing_is_kept_to_go_back_to(world: World) -> None:
    """Neither a cache nor a page's memory: what is `no-store` is asked for again."""
    browser = signed_in(world)
    for path in ("/account", "/device"):
        assert browser.get(path).headers["Cache-Control"] == "no-store"
    browser.post("/sign-out", {"csrf": browser.token()})
    assert browser.answer.headers["Cache-Control"] == "no-store"
    assert browser.get("/account").status_code == 303
    assert "ops@example.com" not in browser.answer.text


@pytest.mark.parametrize("value", ["", "x", "rsts_", "é", "a" * 5000, "rsts_\x00", '"quoted"'])
def test_a_cookie_that_is_none_of_ours_is_nobodys(world: World, value: str) -> None:
    browser = Browser(world)
    answer = browser.get("/account", headers={"Cookie": f"{SESSION}={value}"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/sign-in?next=/account")


def test_a_form_of_another_tab_says_that_one_has_signed_out(world: World, alice: Caller) -> None:
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    browser.get(f"/inboxes/{alice.id}")
    form = {"csrf": browser.token()}
    browser.post("/sign-out", form)
    answer = browser.post(f"/inboxes/{alice.id}/pause", form)
    assert answer.status_code == 403
    assert "You are signed out" in browser.page.text
    (again,) = [one for one in browser.page.all("a") if one.text == "Sign in"]
    assert again.attributes["href"].startswith("/sign-in")
    assert alice.get("A/inbox/stats").status_code == 200
    foreign = browser.post(
        f"/inboxes/{alice.id}/pause", form, headers={"Origin": "https://evil.example"}
    )
    assert foreign.status_code == 403
    assert "You are signed out" not in browser.page.text
