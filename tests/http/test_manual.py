"""/docs: every page is there for everybody, leads to what is there, and loads nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app import create_app
from blueprints.manual.answers import ANSWERS
from blueprints.manual.shelf import BESIDE, FOLDER, READERS, WITHIN, names
from config import Settings
from tests.support.serving import SECRET_KEY


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """The application; nothing here asks its database."""
    folder = tmp_path_factory.mktemp("manual")
    return create_app(Settings(database_url=f"sqlite:///{folder}/none.db", secret_key=SECRET_KEY))


@pytest.fixture(scope="module")
def client(app: Flask) -> FlaskClient:
    return app.test_client()


class Seen(HTMLParser):
    """Where a page leads, what it loads, which anchors it has, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: list[str] = []
        self.tags: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.add(tag)
        if "id" in found:
            self.anchors.append(found["id"] or "")
        if tag == "a" and "href" in found:
            self.links.append(found["href"] or "")
        if tag == "link" or "src" in found:
            self.loads.append(found.get("href") or found.get("src") or "")


def seen(client: FlaskClient, path: str) -> Seen:
    answer = client.get(path)
    assert answer.status_code == 200, path
    assert answer.mimetype == "text/html"
    return Seen(answer.text)


CONSOLE = "/overview"
"""For who is signed in, at the server's own address: its tests are others."""


def pages() -> Iterator[str]:
    yield "/docs"
    yield from (f"/docs/{name}" for name in names())


def test_every_page_is_for_some_reader_or_a_decision() -> None:
    listed = {name for found in READERS.values() for name in found}
    there = {p.relative_to(FOLDER).with_suffix("").as_posix() for p in FOLDER.glob("**/*.md")}
    there |= set(BESIDE)
    assert listed <= there
    assert {name for name in there - listed - WITHIN if not name.startswith("decisions/")} == set()
    assert set(names()) == there - WITHIN


def test_pages_load_nothing_from_elsewhere_and_lead_to_what_is_there(client: FlaskClient) -> None:
    found = {path: seen(client, path) for path in pages()}
    for path, page in found.items():
        assert page.loads
        assert all(target.startswith("/static/") for target in page.loads), path
        assert not page.tags & {"script", "iframe", "img", "style", "object"}, path
        assert len(set(page.anchors)) == len(page.anchors), path
        for link in page.links:
            target, _, anchor = link.partition("#")
            if "://" in link:
                continue
            if target in found or not target:
                if anchor:
                    assert anchor in found[target or path].anchors, (path, link)
            elif target != CONSOLE:
                assert client.get(target).status_code == 200, (path, link)


def test_what_is_told_of_the_agents_side_is_here_and_leads_on(client: FlaskClient) -> None:
    python, js = (seen(client, f"/docs/{name}") for name in BESIDE)
    assert "/docs/webhooks" in python.links
    assert {"/docs/sdk/python/README", "/docs/sdk-parity", "/docs/webhooks"} <= set(js.links)
    assert {f"/docs/{name}" for name in BESIDE} <= set(seen(client, "/docs/agents").links)
    assert {f"/docs/{name}" for name in BESIDE} <= set(seen(client, "/docs").links)


def test_a_page_is_guarded_and_may_ask_here_alone(client: FlaskClient) -> None:
    answer = client.get("/docs/agents")
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "form-action 'self'" in policy
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/docs/none",
        "/docs/../config",
        "/docs/%2e%2e/README",
        "/docs/agents.md",
        "/docs/requirements",
    ],
)
def test_there_are_no_other_pages(client: FlaskClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_search_finds_the_section_that_says_it(client: FlaskClient) -> None:
    page = seen(client, "/docs/search?q=Publish+once")
    found = [link for link in page.links if link.startswith("/docs/") and "#" in link]
    assert found[0] == "/docs/producers#publish-once"
    assert "<mark>" in client.get("/docs/search?q=idempotency").text


def test_every_word_has_to_be_there(client: FlaskClient) -> None:
    assert "Nothing found" in client.get("/docs/search?q=idempotency+xyzzy").text
    assert "Search the docs" in client.get("/docs/search").text


def test_what_is_asked_for_is_shown_as_text(client: FlaskClient) -> None:
    asked = "<script>alert(1)</script>\"'"
    text = client.get("/docs/search", query_string={"q": asked}).text
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert client.get("/docs/search", query_string={"q": "(" * 5000}).status_code == 200
    marked = client.get("/docs/search", query_string={"q": "lease <b"}).text
    assert not re.search(r"<b\b(?!ody|utton)", marked)


def test_each_page_of_the_index_says_what_it_answers() -> None:
    assert set(ANSWERS) == {name for listed in READERS.values() for name in listed}
