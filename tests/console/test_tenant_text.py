"""Text of others on the tenant's pages: names, reasons, browsers and what was typed are shown as they are."""

from __future__ import annotations

from typing import Any

from restante.audit.actions import Action, ActorKind
from restante.audit.chain import record
from restante.audit.entries import Actor, Entry, Origin
from restante.identity.roles import Role
from restante.identity.services import create_service
from restante.storage.ids import Prefix, encode_id
from tests.console.browsing import Browser, operator_of
from tests.console.html import Element
from tests.console.test_web_ui_text import ATTACKS, skeleton
from tests.http.world import World


def seen_by(world: World, tenant: str, texts: list[str]) -> dict[str, Element]:
    """The pages of a tenant in which all that others may say is of these texts."""
    tenant_id = world.tenant(tenant, "main")

    def fill(session: Any) -> str:
        scopes = ("tenant:audit:read",)
        made = [create_service(session, tenant_id, name=text, scopes=scopes) for text in texts]
        for text in texts:
            by = Origin(Actor(ActorKind.CLIENT, text), text, text)
            record(session, Entry(tenant_id, by, Action.TOKEN_REFUSE, text, reason=text))
        return encode_id(Prefix.SERVICE, made[0].id)

    service_id = world.house.database.run(fill)
    boss = operator_of(world, tenant, Role.TENANT_ADMIN, f"<svg/onload=x>@{tenant}.example")
    browser = Browser(world)
    browser.client.environ_base["HTTP_USER_AGENT"] = texts[0]
    browser.signs_in(boss)
    seen = {}

    def see(page: str, path: str, /, **form: str) -> None:
        if form:
            browser.post(path, {"csrf": browser.token(), **form})
        else:
            browser.get(path)
        seen[page] = browser.page

    see("services", "/services")
    see("service", f"/services/{service_id}")
    see(
        "none of that name",
        "/services?name=zz%3Cb%3E" if tenant != "plain" else "/services?name=zz",
    )
    see("audit", "/audit?action=token.refuse")
    entry = browser.page.one("tbody").all("a")[0].attributes["href"]
    see("entry", entry)
    see("members", "/members")
    see("member", f"/members/{boss.public_id}")
    for number, text in enumerate(texts[:4]):
        see(f"project {number}", "/projects", slug=text)
        see(f"invite {number}", "/members/invite", email=text, role=text)
        see(f"new {number}", "/services/new", name=text, more=text)
        see(f"set {number}", "/settings", max_pending=text, allowed_origins=text)
        see(f"change {number}", "/projects/main", on_quarantine="skip", unread_escalate_to=text)
    return seen


def test_wu_027_markup_of_others_is_text_on_pages_of_the_tenant(world: World) -> None:
    """Compared with the pages of harmless text: the same elements with the same attributes."""
    harmless = [f"harmless {number:02}" for number in range(len(ATTACKS))]
    plain, attacked = seen_by(world, "plain", harmless), seen_by(world, "attacked", ATTACKS)
    for name, page in plain.items():
        assert skeleton(attacked[name]) == skeleton(page), name
    assert "{{7*7}}" in attacked["services"].text
    assert "</script><script>alert(1)" in attacked["audit"].text
