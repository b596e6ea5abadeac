"""Operators sign in through two real identity providers, in a browser, at a server of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.chromium import STEP_MILLISECONDS
from tests.support.identity_providers import (
    RunningProvider,
    start_mock_provider,
    start_npm_provider,
)
from tests.support.ports import free_port
from tests.support.serving import RestanteCommand, Served
from tests.support.unavailable import had

PEOPLE = [
    {"sub": "ops", "email": "ops@example.com", "email_verified": True},
    {"sub": "nobody", "email": "nobody@example.com", "email_verified": True},
    {"sub": "unverified", "email": "unverified@example.com", "email_verified": False},
]
pytestmark = pytest.mark.timeout(400)


class AtNpm:
    """How a person signs in at oidc-provider: a name, any password, consent."""

    def sign_in(self, page: Page, name: str) -> None:
        page.get_by_placeholder("Enter any login").fill(name)
        page.get_by_placeholder("and password").fill("x")
        page.get_by_role("button", name="Sign-in").click()
        consent = page.get_by_role("button", name="Continue")
        expect(consent.or_(page.locator("main.letter"))).to_be_visible(timeout=STEP_MILLISECONDS)
        if consent.is_visible():
            consent.click()


class AtMock:
    """At oidc-provider-mock: one of the predefined people."""

    def sign_in(self, page: Page, name: str) -> None:
        page.get_by_role("button", name=name, exact=True).click()


@pytest.fixture(params=["oidc-provider", "oidc-provider-mock"])
def at(request: pytest.FixtureRequest) -> AtNpm | AtMock:
    return AtNpm() if request.param == "oidc-provider" else AtMock()


@pytest.fixture
def provider(at: AtNpm | AtMock, port: int, tmp_path: Path) -> Iterator[RunningProvider]:
    log = tmp_path / "provider.log"
    if isinstance(at, AtNpm):
        back = f"http://127.0.0.1:{port}/sign-in/oidc/return"
        made = had(lambda: start_npm_provider(back, log))
    else:
        made = had(lambda: start_mock_provider([json.dumps(one) for one in PEOPLE], log))
    yield made
    made.process.kill_group()


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def served(provider: RunningProvider, port: int, tmp_path: Path) -> Iterator[Served]:
    """A console that trusts the provider; ops@example.com and unverified@example.com are invited."""
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    settings = {"RESTANTE_INSTANCE": str(tmp_path / "instance"), **provider.settings}
    command = RestanteCommand(url, settings=settings)
    command.upgrade()
    command.create_tenant("acme")
    for name in ("ops", "unverified"):
        words = ("--tenant", "acme", "--email", f"{name}@example.com", "--role", "tenant_admin")
        command.json("operator", "invite", *words)
    made = Served(url, log=tmp_path / "serve.log", port=port, settings=settings)
    made.wait_until_ready()
    yield made
    made.process.kill_group()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[[], Page]]:
    """New pages, each of a browser that knows nobody; what breaks the policy of a page fails the test."""
    broken: list[str] = []
    contexts = []

    def new() -> Page:
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.set_default_timeout(STEP_MILLISECONDS)
        page.on(
            "console",
            lambda said: broken.append(said.text) if "Content Security" in said.text else None,
        )
        return page

    yield new
    for context in contexts:
        context.close()
    assert not broken


def begin(page: Page, served: Served) -> None:
    page.goto(f"{served.url}/device")
    page.get_by_role("button", name=re.compile("^Sign in with 127")).click()
    page.wait_for_url(lambda url: not url.startswith(served.url))


def test_in_and_out_and_proved_anew(
    visit: Callable[[], Page],
    served: Served,
    at: AtNpm | AtMock,
) -> None:
    page = visit()
    begin(page, served)
    at.sign_in(page, "ops")
    page.wait_for_url(f"{served.url}/device")
    page.goto(f"{served.url}/account")
    expect(page.get_by_role("heading", level=1)).to_have_text("Your sessions")
    expect(page.get_by_role("main")).to_contain_text("ops@example.com")

    page.goto(f"{served.url}/sign-in/again?next=/account")
    page.get_by_role("button", name="Ask me again").click()
    page.wait_for_url(lambda url: not url.startswith(served.url))
    at.sign_in(page, "ops")  # oidc-provider shows its form though it knows him: prompt=login
    page.wait_for_url(f"{served.url}/account")

    page.goto(f"{served.url}/sign-in/again?next=/account")
    page.get_by_role("button", name="Ask me again").click()
    page.wait_for_url(lambda url: not url.startswith(served.url))
    at.sign_in(page, "nobody")
    expect(page.get_by_role("heading", level=1)).to_have_text("That was somebody else")

    page.goto(f"{served.url}/account")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{served.url}/signed-out")
    expect(page.get_by_role("link", name="Sign out there too")).to_be_visible()
    page.go_back()
    page.goto(f"{served.url}/account")
    page.wait_for_url(f"{served.url}/sign-in?next=/account")


@pytest.mark.parametrize(
    ("name", "heading"),
    [("nobody", "You are nobody here yet"), ("unverified", "Your address is not verified")],
)
def test_a_stranger_is_told_who_he_was_taken_for(
    visit: Callable[[], Page],
    served: Served,
    at: AtNpm | AtMock,
    name: str,
    heading: str,
) -> None:
    page = visit()
    begin(page, served)
    at.sign_in(page, name)
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    expect(page.get_by_text(f"{name}@example.com")).to_be_visible()
    assert "acme" not in page.content()
    page.get_by_role("button", name="Use another account").click()
    page.wait_for_url(lambda url: not url.startswith(served.url))
    at.sign_in(page, "ops")
    page.wait_for_url(re.compile(f"^{served.url}/(overview|device)$"))
