"""What every answer of the pages is sent with, and under which name they answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from werkzeug.test import TestResponse

from tests.console.browsing import Browser, audited, device, operator_of, signed_in
from tests.console.html import parse
from tests.http.world import World, verbs

HTML = {"Accept": "text/html"}


def answers(world: World) -> Iterator[tuple[str, TestResponse]]:
    """Every page there is, those of failures too, and a style sheet."""
    browser = signed_in(world)
    dock = world.agent("acme", "dock", verbs("main")).id
    for path in ("/account", "/device", "/signed-out", "/sign-in", "/sign-in/again"):
        yield path, browser.get(path)
    yield "gone", browser.get("/sign-in/rstl_none")
    for client, name in ((dock, "review"), ("restante-agent", "choice")):
        waiting = device(world, client)
        browser.get("/device")
        yield name, browser.send("/device", user_code=waiting.user_code)
    yield "decided", browser.send("/device/refuse")
    browser.get("/device")
    yield "unknown code", browser.send("/device", user_code="BCDFG")
    yield "no token", browser.post("/device/approve")
    yield "method", browser.ask("PUT", "/device", headers=HTML)
    yield "nowhere", browser.get("/nowhere", headers=HTML)
    yield "too large", browser.post("/device", {"user_code": "x" * 20_000})
    yield "redirect", Browser(world).get("/device")
    yield "other name", browser.get("/device", base_url="http://evil.example")
    yield "htmx", Browser(world).get("/device", headers={"HX-Request": "true"})


PUBLIC = ("/", "/api/docs", "/problems", "/problems/not-found", "/static/console.css")


def policy(answer: TestResponse) -> dict[str, str]:
    text = answer.headers["Content-Security-Policy"]
    return {rule.split()[0]: rule.partition(" ")[2] for rule in map(str.strip, text.split(";"))}


def test_wu_018_nothing_runs_but_what_is_ours(world: World) -> None:
    seen = dict(answers(world))
    seen |= {path: world.client.get(path) for path in PUBLIC}
    for name, answer in seen.items():
        rules = policy(answer)
        assert rules["default-src"] == "'none'", name
        assert rules["base-uri"] == "'none'", name
        assert rules["form-action"] in ("'self'", "'none'"), name
        assert rules["frame-ancestors"] == "'none'", name
        assert rules.get("style-src", "'self'") == "'self'", name
        assert rules.get("script-src", "'self'") == "'self'", name
        assert "unsafe" not in answer.headers["Content-Security-Policy"], name


def test_wu_018_pages_need_nothing_that_the_policy_forbids(world: World) -> None:
    """No inline style, handler or script, and nothing that is loaded from elsewhere (WU-028, WU-052)."""
    for name, answer in answers(world):
        if not answer.data or answer.mimetype != "text/html":
            continue
        page = parse(answer.text)
        assert not page.all("script"), name
        assert not page.all("style"), name
        for element in page:
            for attribute, value in element.attributes.items():
                assert attribute != "style", (name, element)
                assert not attribute.startswith(("on", "hx-", "data-hx")), (name, element)
                if attribute in ("href", "src", "action", "formaction"):
                    assert re.match(r"/(?!/)|http://127\.0\.0\.1:8000$", value), (name, value)
        sheets = [link.attributes["href"] for link in page.all("link", rel="stylesheet")]
        assert sheets == ["/static/console.css", "/static/bare.css"], name
        assert [html.attributes["lang"] for html in page.all("html")] == ["en"]
        assert len(page.all("h1")) == 1, name
        named = {label.attributes.get("for") for label in page.all("label")}
        for box in page.all("input", type="text"):
            assert box.attributes["id"] in named, name


def test_wu_019_no_nonce_is_handed_out(world: World) -> None:
    """Where nothing inline is let run, there is none that could be weak."""
    for name, answer in answers(world):
        assert "nonce" not in answer.headers["Content-Security-Policy"], name


def test_wu_020_pages_are_in_nobodys_frame(world: World) -> None:
    seen = {**dict(answers(world)), **{path: world.client.get(path) for path in PUBLIC}}
    for name, answer in seen.items():
        assert answer.headers.getlist("X-Frame-Options") == ["DENY"], name
        assert policy(answer)["frame-ancestors"] == "'none'", name


def test_wu_021_other_headers(world: World) -> None:
    seen = {**dict(answers(world)), **{path: world.client.get(path) for path in PUBLIC}}
    for name, answer in seen.items():
        assert answer.headers.getlist("X-Content-Type-Options") == ["nosniff"], name
        assert answer.headers.getlist("Referrer-Policy") == ["same-origin"], name
        assert answer.headers.getlist("Cross-Origin-Opener-Policy") == ["same-origin"], name
        assert "Server" not in answer.headers, name
        assert "Strict-Transport-Security" not in answer.headers, "on loopback without TLS"


class TestOnHttps:
    """Under the address that it has in production."""

    @pytest.fixture
    def settings(self) -> dict[str, object]:
        return {"public_url": "https://inbox.example.com"}

    def test_wu_021_browsers_stay_on_https(self, world: World) -> None:
        browser = signed_in(world)
        for path in ("/account", "/device", "/nowhere", *PUBLIC):
            answer = browser.get(path, headers=HTML)
            assert answer.headers["Strict-Transport-Security"].startswith("max-age=31536000"), path

    def test_wu_035_links_are_those_of_the_settings(self, world: World) -> None:
        browser = signed_in(world)
        for host in ("evil.example", "inbox.example.com.evil.example", "inbox.example.com:444"):
            for path in ("/device", "/sign-in", "/sign-in?next=/device", "/account"):
                answer = browser.get(path, base_url=f"https://{host}")
                assert answer.status_code == 421, (host, path)
                assert "evil.example" not in answer.text
                assert "Location" not in answer.headers
                assert "https://inbox.example.com" in answer.text
        assert browser.get("/device", base_url="https://INBOX.example.com:443").status_code == 200


def test_wu_022_no_other_origin_reads_a_page(world: World) -> None:
    browser = signed_in(world)
    for origin in ("https://evil.example", "null"):
        for path in ("/account", "/device", "/sign-in", "/static/console.css"):
            asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
            for answer in (
                browser.get(path, headers={"Origin": origin}),
                browser.ask("OPTIONS", path, headers=asked),
            ):
                assert not [h for h, _ in answer.headers if h.startswith("Access-Control")], path
        answer = browser.get("/api/v1/events", headers={"Origin": origin})
        assert answer.headers.get("Access-Control-Allow-Origin") in (None, "*")
        assert "Access-Control-Allow-Credentials" not in answer.headers


def test_wu_023_pages_are_not_kept(world: World) -> None:
    for name, answer in answers(world):
        assert answer.headers.getlist("Cache-Control") == ["no-store"], name
        assert "ETag" not in answer.headers, name


def test_wu_024_a_part_is_not_taken_for_a_page(world: World) -> None:
    for name, answer in answers(world):
        assert {"HX-Request", "Cookie"} <= {
            part.strip() for part in answer.headers["Vary"].split(",")
        }, name


def test_wu_036_what_a_caller_says_of_proxies_is_nothing(world: World) -> None:
    said = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Prefix": "//evil.example",
        "X-Forwarded-For": "203.0.113.99",
        "Forwarded": "for=203.0.113.99;host=evil.example;proto=https",
    }
    who = operator_of(world)
    browser = Browser(world)
    browser.client.environ_base.update(
        {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in said.items()}
    )
    assert browser.signs_in(who).headers["Location"] == "/overview"
    assert "evil" not in browser.get("/device").text
    browser.send("/device", user_code="BCDFG")
    assert {entry.address for entry in audited(world)[-2:]} == {"192.0.2.9"}
    for number in range(9):
        browser.client.environ_base["HTTP_X_FORWARDED_FOR"] = f"203.0.113.{number}"
        browser.get("/device")
        browser.send("/device", user_code="BCDFG")
    browser.get("/device")
    assert browser.send("/device", user_code="BCDFG").status_code == 429
