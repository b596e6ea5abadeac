"""What goes wrong on pages: a page with a request id, and nothing of the inside."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from app import create_app
from config import Settings
from restante.errors import Overloaded
from restante.storage.transaction import Database
from tests.console.browsing import Browser, device, signed_in
from tests.http.world import World, unknown_id, verbs
from tests.support.serving import SECRET_KEY

HTML = {"Accept": "text/html"}
INSIDE = ("Traceback", "sqlalchemy", "SELECT", "swordfish", ".py", "Werkzeug", "Flask", "restante.")


def shows_nothing(browser: Browser, status: int) -> None:
    answer = browser.answer
    assert (answer.status_code, answer.mimetype) == (status, "text/html")
    assert answer.headers["X-Request-Id"] in browser.page.text
    assert not [word for word in INSIDE if word in answer.text]


def test_wu_044_what_fails_here_tells_its_request_id_alone(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the secret is swordfish")

    browser = signed_in(world)
    browser.get("/device")
    monkeypatch.setattr("blueprints.console.device.look_up", fail)
    browser.send("/device", user_code="BCDFG")
    shows_nothing(browser, 500)
    assert "swordfish" in caplog.text
    assert f"request_id={browser.answer.headers['X-Request-Id']}" in caplog.text


def test_wu_044_pages_of_what_is_refused(world: World) -> None:
    browser = signed_in(world)
    browser.get("/nowhere", headers=HTML)
    shows_nothing(browser, 404)
    browser.ask("DELETE", "/device", headers=HTML)
    shows_nothing(browser, 405)
    assert browser.answer.headers["Allow"] == "GET, HEAD, POST"
    browser.post("/device", {"user_code": "x" * 20_000})
    shows_nothing(browser, 413)
    browser.post("/device", {})
    shows_nothing(browser, 403)


@pytest.mark.parametrize("lost", [True, False], ids=["lost connection", "no slot"])
def test_wu_044_a_database_that_is_down_is_a_page(
    world: World, monkeypatch: pytest.MonkeyPatch, *, lost: bool
) -> None:
    def fail(*_: object) -> None:
        if not lost:
            raise Overloaded
        raise OperationalError(
            "SELECT swordfish", {}, Exception("swordfish"), connection_invalidated=True
        )

    browser = signed_in(world)
    monkeypatch.setattr(Database, "run", fail)
    browser.get("/account")
    shows_nothing(browser, 503)
    assert "Try again in a moment" in browser.page.text
    assert int(browser.answer.headers["Retry-After"]) >= 1


def test_wu_044_there_is_no_debugger(world: World) -> None:
    for path in ("/console", "/?__debugger__=yes&cmd=resource&f=debugger.js", "/.env"):
        answer = world.client.get(path, headers=HTML)
        assert "debugger" not in answer.text
    assert world.client.get("/console").status_code == 404


def test_wu_045_debug_stays_off(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASK_DEBUG", "1")
    monkeypatch.setenv("FLASK_ENV", "development")
    folder = tmp_path_factory.mktemp("debug")
    app = create_app(Settings(database_url=f"sqlite:///{folder}/none.db", secret_key=SECRET_KEY))
    assert isinstance(app, Flask)
    assert not app.debug
    answer = app.test_client().get("/account", base_url="http://127.0.0.1:8000")
    assert answer.status_code == 303


def test_wu_046_what_is_no_code_costs_what_a_foreign_one_costs(
    world: World, counted: Callable[[], Any]
) -> None:
    """The same statements and the same page: neither text nor time tells which it was."""
    world.tenant("rival", "main")
    foreign = device(world, world.agent("rival", "r", verbs("main")).id)
    decided = device(world)
    over = device(world)
    world.pass_time(601)
    browser = signed_in(world)
    told = []
    for code in ("BCDFG-HJKLM", foreign.user_code, decided.user_code, over.user_code, ""):
        browser.get("/device")
        with counted() as statements:
            browser.send("/device", user_code=code)
        told.append((browser.answer.status_code, browser.heading, list(statements)))
    # the first failure of a minute is counted by other statements than later ones
    assert told[1:] == [told[1]] * 4
    assert told[0][:2] == told[1][:2]


@pytest.mark.parametrize("length", [10**9, 17 * 1024])
def test_wu_047_a_large_form_is_not_read(world: World, length: int) -> None:
    class Endless(io.RawIOBase):
        read_bytes = 0

        def readinto(self, buffer: object) -> int:
            assert isinstance(buffer, memoryview)
            Endless.read_bytes += len(buffer)
            buffer[:] = b"a" * len(buffer)
            return len(buffer)

        def readable(self) -> bool:
            return True

    browser = signed_in(world)
    answer = browser.ask(
        "POST",
        "/device",
        content_type="application/x-www-form-urlencoded",
        environ_overrides={
            "wsgi.input": io.BufferedReader(Endless()),
            "CONTENT_LENGTH": str(length),
        },
    )
    assert answer.status_code == 413
    assert Endless.read_bytes < 200_000


@pytest.mark.parametrize(
    ("data", "content_type", "expected"),
    [
        ("&".join(f"f{n}=1" for n in range(10_000)), "application/x-www-form-urlencoded", 413),
        ("&".join(f"f{n}=" for n in range(2_000)), "application/x-www-form-urlencoded", 403),
        ("--x\r\nbroken", "multipart/form-data; boundary=x", 403),
        ("--x\r\nbroken", "multipart/form-data", 403),
        ("csrf=%ff%fe%zz&user_code=%00", "application/x-www-form-urlencoded", 403),
        ("{}", "application/json", 403),
        (b"\xff\xfe\x00", "text/plain; charset=nonsense", 403),
    ],
)
def test_wu_047_a_broken_form_is_refused(
    world: World, data: str | bytes, content_type: str, expected: int
) -> None:
    browser = signed_in(world)
    answer = browser.ask("POST", "/device", data=data, content_type=content_type)
    assert answer.status_code == expected
    assert answer.mimetype == "text/html"


def test_wu_031_bytes_that_are_no_text_are_typed_in_vain(world: World) -> None:
    browser = signed_in(world)
    token = browser.token()
    for typed in ("%00", "%ff%fe", "%ed%a0%80", "%ef%bb%bf", "%1f%8b%08", "a%0d%0ab"):
        body = f"csrf={token}&user_code={typed}"
        answer = browser.ask(
            "POST", "/device", data=body, content_type="application/x-www-form-urlencoded"
        )
        assert answer.status_code == 404, typed
        assert browser.heading == "No device waits with this code"
        assert "Content-Security-Policy" in answer.headers
        assert len(answer.headers.getlist("Location")) == 0


def test_an_address_that_leads_nowhere_leads_back_to_its_list(world: World) -> None:
    browser = signed_in(world)

    def led_to(path: str) -> list[str]:
        assert browser.get(path).status_code == 404
        return [a.attributes["href"] for a in browser.page.all("a", **{"class": "button"})]

    assert led_to(f"/inboxes/{unknown_id('agt')}") == ["/inboxes"]
    assert led_to(f"/events/{unknown_id('evt')}") == ["/events"]
    assert led_to("/nonsense") == []
    browser.get("/search")
    assert browser.page.one("main").all("input", name="q"), "the page has its own field"
