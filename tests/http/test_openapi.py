"""The document is valid, complete, and true of its own examples; its page loads nothing from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from flask import Flask
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from orjson import dumps
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from app import create_app
from blueprints.access import stated_by
from blueprints.bodies import read_body
from blueprints.endpoint import endpoint_of
from blueprints.problem_texts import TEXTS
from blueprints.problems import KINDS
from config import Settings
from tests.http.test_access import PUBLIC
from tests.support.serving import SECRET_KEY

PAGES = {
    "/",
    "/api/docs",
    "/docs",
    "/docs/<path:name>",
    "/docs/search",
    "/problems",
    "/problems/<slug>",
    "/static/<path:filename>",
    "/api/v1/openapi.json",
    "/sign-in",
    "/sign-in/<secret>",
    "/sign-in/oidc",
    "/sign-in/oidc/return",
    "/signed-out",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """The application; nothing here asks its database."""
    folder = tmp_path_factory.mktemp("openapi")
    return create_app(Settings(database_url=f"sqlite:///{folder}/none.db", secret_key=SECRET_KEY))


@pytest.fixture(scope="module")
def document(app: Flask) -> dict[str, Any]:
    answer = app.test_client().get("/api/v1/openapi.json")
    assert answer.content_type == "application/json"
    made: dict[str, Any] = answer.json
    return made


def written(rule: str) -> str:
    """A rule's path as the document writes it."""
    return re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """("POST /path", operation) of each."""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def validator(document: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    """For a schema of the document, whose references lead into it."""
    registry = Registry().with_resource("urn:document", Resource(document, DRAFT202012))
    if "$ref" in schema:
        schema = {"$ref": f"urn:document{schema['$ref']}"}
    return Draft202012Validator(schema, registry=registry)


def contents(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(where, media type, content) of every body and answer."""
    for label, operation in operations(document):
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            yield f"{label} body", media, content
        for status, answer in operation["responses"].items():
            for media, content in answer.get("content", {}).items():
                yield f"{label} {status}", media, content


def test_it_is_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    validate(document)


def test_it_has_every_route_and_no_other(app: Flask, document: dict[str, Any]) -> None:
    served = set()
    for rule in app.url_map.iter_rules():
        access = stated_by(app.view_functions[rule.endpoint])
        assert access is not None
        if rule.rule in PAGES or access.session:  # pages are for people
            continue
        path = written(rule.rule)
        # what refuses other methods in its own words takes POST
        refusing = path.startswith("/oauth/") and "POST" in rule.methods
        methods = {"POST"} if refusing else rule.methods - {"HEAD"}
        served |= {f"{method} {path}" for method in methods}
    assert {label for label, _ in operations(document)} == served


def test_every_operation_says_who_may_call_it(app: Flask, document: dict[str, Any]) -> None:
    stated = {}
    for rule in app.url_map.iter_rules():
        access = stated_by(app.view_functions[rule.endpoint])
        for method in rule.methods:
            stated[f"{method} {written(rule.rule)}"] = access
    scopes = document["components"]["securitySchemes"]["token"]["flows"]["clientCredentials"][
        "scopes"
    ]
    for label, operation in operations(document):
        if label.partition(" ")[2] in PUBLIC:
            assert operation["security"] in ([], [{"client": []}, {}]), label
            continue
        named = [scope for way in operation["security"] for scope in way["token"]]
        assert named == stated[label].scope_names(), label
        assert set(named) <= scopes.keys()


def test_every_operation_with_a_token_tells_of_signatures(document: dict[str, Any]) -> None:
    assert "content-digest" in document["info"]["description"]
    for label, operation in operations(document):
        if label.partition(" ")[2] not in PUBLIC:
            refused = operation["responses"]["401"]
            assert "Accept-Signature" in refused["headers"], label
            shown = refused["content"]["application/problem+json"]["examples"]
            assert "signature-missing" in shown, label


def test_every_body_and_answer_has_examples_that_are_true(document: dict[str, Any]) -> None:
    checked = 0
    for where, media, content in contents(document):
        assert content["examples"], where
        check = validator(document, content["schema"])
        for name, example in content["examples"].items():
            shared = example.get("$ref", "").rpartition("/")[2]
            value = (document["components"]["examples"][shared] if shared else example)["value"]
            faults = [fault.message for fault in check.iter_errors(value)]
            assert not faults, (where, media, name, faults)
            checked += 1
    assert checked > 100


def test_every_example_of_a_body_is_read_by_its_endpoint(app: Flask) -> None:
    read = 0
    for view in app.view_functions.values():
        endpoint = endpoint_of(view)
        if endpoint is not None and endpoint.body is not None:
            assert endpoint.examples
            for example in endpoint.examples.values():
                assert read_body(dumps(example), endpoint.body) is not None
                read += 1
    assert read > 15


def test_every_answer_names_its_headers(document: dict[str, Any]) -> None:
    for label, operation in operations(document):
        for status, answer in operation["responses"].items():
            assert {"X-Request-Id", "Restante-Version"} <= answer["headers"].keys(), (label, status)
            if status in ("429", "503") and "problem" in str(answer.get("content")):
                assert "Retry-After" in answer["headers"], (label, status)
            if status == "401":
                assert "WWW-Authenticate" in answer["headers"], (label, status)


def test_operations_are_named_once(document: dict[str, Any]) -> None:
    names = [operation["operationId"] for _, operation in operations(document)]
    assert len(names) == len(set(names))
    assert all(
        operation["summary"] and operation["description"] for _, operation in operations(document)
    )


def test_members_of_answers_may_be_added(document: dict[str, Any]) -> None:
    """Clients made from the document do not stop at a member that a later server adds."""
    schemas = document["components"]["schemas"]
    for where, _, content in contents(document):
        if not where.endswith(" body") and "$ref" in content["schema"]:
            assert "additionalProperties" not in schemas[
                content["schema"]["$ref"].rpartition("/")[2]
            ] or (
                schemas[content["schema"]["$ref"].rpartition("/")[2]]["additionalProperties"]
                is True
            ), where


class Links(HTMLParser):
    """What a page loads, and where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.tags.add(tag)
        self.ids |= {values["id"]} if "id" in values else set()
        if tag == "a":
            self.leads.append(values.get("href", ""))
        else:
            self.loads += [
                values[name] for name in ("src", "href", "data", "srcset") if name in values
            ]
        assert "style" not in values
        assert not any(name.startswith("on") for name in values)


LOOK = [f"/static/{name}.css" for name in ("console", "bare", "manual")]
"""What all pages to read load, and no more than some of them."""


def links(app: Flask, path: str) -> Links:
    answer = app.test_client().get(path)
    assert answer.status_code == 200, path
    assert answer.mimetype == "text/html"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    found = Links()
    found.feed(answer.text)
    return found


def test_the_page_shows_every_operation_and_loads_style_sheets_alone(
    app: Flask, document: dict[str, Any]
) -> None:
    page = links(app, "/api/docs")
    assert page.loads == [*LOOK, "/static/reference.css"]
    assert not page.tags & {"script", "img", "iframe", "object", "style"}
    assert {operation["operationId"] for _, operation in operations(document)} <= page.ids
    assert {lead[1:] for lead in page.leads if lead.startswith("#")} <= page.ids
    for path in page.loads:
        css = app.test_client().get(path)
        assert css.mimetype == "text/css"
        assert "url(" not in css.text
        assert "@import" not in css.text


def test_the_front_page_says_what_this_is_and_leads_on(app: Flask) -> None:
    page = links(app, "/")
    assert page.loads == LOOK
    assert not page.tags & {"script", "img", "iframe", "object", "style"}
    assert {"/api/docs", "/problems", "/api/v1/openapi.json"} <= set(page.leads)
    text = app.test_client().get("/").text
    assert "durable inbox for agents" in text
    assert "restante-agent listen" in text


def test_every_problem_has_a_page_that_says_what_to_do(app: Flask) -> None:
    index = links(app, "/problems")
    assert {kind.slug for kind in KINDS.values()} == TEXTS.keys()
    for kind in KINDS.values():
        assert kind.type in index.leads
        page = links(app, kind.type)
        assert page.loads == LOOK
        text = app.test_client().get(kind.type).text
        assert kind.title.split("'")[0] in text
        assert "What happened" in text
        assert "What to do" in text


def test_every_link_of_the_pages_leads_somewhere(app: Flask) -> None:
    for path in ("/", "/api/docs", "/problems", "/problems/stale-claim"):
        for lead in links(app, path).leads:
            if not lead.startswith("#") and lead != "/overview":  # for who is signed in
                assert lead.startswith("/"), lead
                assert app.test_client().get(lead).status_code == 200, lead


def test_an_unknown_problem_is_itself_a_problem(app: Flask) -> None:
    answer = app.test_client().get("/problems/no-such-thing")
    assert (answer.status_code, answer.json["type"]) == (404, "/problems/not-found")
