"""A form that makes a secret makes one, however often it is sent: what it made was shown the first time."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import Browser, actions, signed_in
from tests.console.hooked import hooked_in
from tests.http.callbacks import registered
from tests.http.world import Caller, World

MADE = ("credential.create", "done")


@pytest.fixture
def admin(world: World) -> Browser:
    return signed_in(world, role=Role.TENANT_ADMIN)


def sent_twice(browser: Browser, page: str, path: str) -> None:
    browser.get(page)
    form = browser.page.form(path)
    assert browser.post(path, form).status_code == 200
    assert browser.post(path, form).status_code == 409
    assert "moment ago" in browser.page.text


def test_of_an_agent(world: World, admin: Browser, alice: Caller) -> None:
    base = f"/inboxes/{alice.id}/credentials"
    sent_twice(admin, base, f"{base}/secret")
    assert actions(world).count(MADE) == 1


def test_of_a_service(world: World, admin: Browser) -> None:
    service = world.service("acme", "ci", ["tenant:events:publish"])
    sent_twice(admin, f"/services/{service.id}", f"/services/{service.id}/credentials")
    assert actions(world).count(MADE) == 1


def test_of_a_callback(world: World) -> None:
    hooked = hooked_in(world)
    one = registered(hooked.agent)
    sent_twice(hooked.admin, f"/callbacks/{one}", f"/callbacks/{one}/secret")
    assert actions(hooked.world).count(("callback.secret", "done")) == 1
