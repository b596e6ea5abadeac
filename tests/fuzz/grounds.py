"""Where it is shot: a tenant's household, operators at their browsers, and every good request there is.

The list of requests is made from the URL map, the document and the forms of the console's own pages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from werkzeug.routing import Rule

from blueprints.access import stated_by
from blueprints.openapi import document
from restante.identity.roles import Role
from tests.console.browsing import SESSION, Browser, signed_in
from tests.console.html import Element, parse
from tests.console.things import things_of
from tests.fuzz.bodies import places, places_of
from tests.fuzz.shots import Good, Shot
from tests.http.household import Household
from tests.http.walk import Ids, Route, routes
from tests.http.world import World

_numbers = count()
NO_ENDS = ("/subscribe", "/live")
"""Answers that have no end: only their refusals are read."""
LEAVES = {"/sign-out", "/account/sessions/revoke-others"}
"""Forms that end what the browser is there with."""


@dataclass
class Grounds:
    """A world whose present household is replaced once it has been shot to pieces."""

    world: World
    home: Household = field(init=False)
    things: dict[str, str] = field(init=False)
    browsers: dict[Role, Browser] = field(init=False)

    def __post_init__(self) -> None:
        self.settle()

    def settle(self) -> None:
        """A new tenant with everything in it, and operators of it."""
        number = next(_numbers)
        tenant, name = f"fuzz-{number}", f"f{number}"
        self.world.tenant(tenant, "main", "alone")
        self.home, self.things = things_of(self.world, tenant, name, slug="alone")
        self.browsers = {
            role: signed_in(
                self.world,
                tenant=None if role is Role.PLATFORM_ADMIN else tenant,
                role=role,
                email=f"{name}-{role.value}@example.com",
            )
            for role in (Role.TENANT_ADMIN, Role.PLATFORM_ADMIN)
        }

    @property
    def is_whole(self) -> bool:
        """Whether those who shoot can still do anything."""
        home = self.home
        answers = (home.agent.get("A/inbox/stats"), home.boss.get("admin/tenant"))
        seen = (one.get("/account") for one in self.browsers.values())
        return all(a.status_code == 200 for a in answers) and all(
            a.status_code == 200 for a in seen
        )

    @cached_property
    def document(self) -> dict[str, Any]:
        """What callers are told of the API."""
        with self.world.app.test_request_context():
            return document(self.world.app)

    def api(self) -> Iterator[tuple[Good, frozenset[int]]]:
        """A good call of every endpoint that takes a token, and the statuses that are documented."""
        for route in routes(self.world.app):
            yield self.of_route(route)

    def of_route(self, route: Route) -> tuple[Good, frozenset[int]]:
        """The same of one endpoint."""
        ids, operation = self.home.ids, self._operation(route.method, route.rule)
        schema: dict[str, Any] = {}
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
        body = route.good.body(ids) if route.good.body else ({} if schema else None)
        members = dict.fromkeys(places_of(body)) if schema else {}
        members |= dict.fromkeys(places(schema, self.document))
        token = self.home.caller(route).token
        shot = Shot(
            route.method,
            route.good.path(route.rule, ids),
            {**route.good.headers, "Authorization": f"Bearer {token}"},
        )
        good = Good(
            shot,
            segments=tuple(_segments(route, ids)),
            body=body,
            members=tuple(members),
            parameters=_parameters(operation),
        )
        return good, frozenset(map(int, operation["responses"]))

    def oauth(self) -> Iterator[tuple[Good, frozenset[int]]]:
        """A good request of every endpoint of OAuth that takes a form."""
        agent = self.home.agent
        who = {"client_id": agent.id, "client_secret": agent.secret}
        told = {
            "/oauth/token": {
                "grant_type": "client_credentials",
                "scope": "agent:main:read",
                **who,
                **dict.fromkeys(("client_assertion", "client_assertion_type"), ""),
                **dict.fromkeys(("refresh_token", "device_code", "resource", "audience"), ""),
            },
            "/oauth/device_authorization": {"client_id": agent.id, "scope": "", "host": "shed"},
            "/oauth/introspect": {"token": agent.token, "token_type_hint": "", **who},
            "/oauth/revoke": {"token": "x", "token_type_hint": "refresh_token", **who},
        }
        for rule, form in told.items():
            statuses = frozenset(map(int, self._operation("POST", rule)["responses"]))
            yield Good(Shot("POST", rule), form=form), statuses

    def public(self) -> Iterator[Good]:
        """Every page that is there for all."""
        for rule in self.world.app.url_map.iter_rules():
            access = stated_by(self.world.app.view_functions[rule.endpoint])
            if access is None or not access.public or "GET" not in (rule.methods or ()):
                continue
            names = {"slug": "overloaded", "filename": "console.css", "secret": "x" * 43}
            names["name"] = "agents"
            path = _filled(rule, names)
            segments = tuple(names[name] for name in rule.arguments)
            parameters = ("next", "code", "state", "iss", "user_code", "q")
            yield Good(Shot("GET", path), segments=segments, parameters=parameters)

    def console(self) -> Iterator[Good]:
        """Every page for which one is signed in, and every form that the pages have."""
        for role, browser in self.browsers.items():
            cookie = {"Cookie": f"{SESSION}={browser.cookie()}"}
            queries: dict[str, set[str]] = defaultdict(set)
            forms: dict[str, dict[str, str]] = {}
            for rule in self._pages():
                answer = browser.get(_filled(rule, self.things))
                if answer.status_code == 200 and answer.mimetype == "text/html":
                    _harvest(parse(answer.text), rule.rule, queries, forms)
            for rule in self._pages():
                path = _filled(rule, self.things)
                if role is Role.TENANT_ADMIN or path.startswith("/platform"):
                    yield Good(
                        Shot("GET", path, cookie),
                        segments=tuple(self.things[name] for name in sorted(rule.arguments)),
                        parameters=tuple(sorted(queries[path] | {"page_token"})),
                    )
            for action, form in sorted(forms.items()):
                segments = [one for one in self.things.values() if one in action.split("/")]
                yield Good(Shot("POST", action, cookie), segments=tuple(segments), form=form)

    def _pages(self) -> Iterator[Rule]:
        for rule in self.world.app.url_map.iter_rules():
            access = stated_by(self.world.app.view_functions[rule.endpoint])
            if access is not None and access.session and "GET" in (rule.methods or ()):
                yield rule

    def _operation(self, method: str, rule: str) -> dict[str, Any]:
        path = re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule)
        found: dict[str, Any] = self.document["paths"][path][method.lower()]
        return found


def _segments(route: Route, ids: Ids) -> Iterator[str]:
    path, wanted = route.good.path(route.rule, ids), re.findall(r"<(?:\w+:)?(\w+)>", route.rule)
    written = [one for one in route.rule.split("/") if one]
    parts = [one for one in path.partition("?")[0].split("/") if one]
    if "<key:key>" in route.rule:
        yield ids.key
    for name, part in zip(written, parts, strict=False):
        if name.startswith("<") and name != "<key:key>":
            assert wanted
            yield part


def _parameters(operation: dict[str, Any]) -> tuple[str, ...]:
    return tuple(one["name"] for one in operation.get("parameters", ()) if one["in"] == "query")


def _filled(rule: Rule, things: dict[str, str]) -> str:
    return re.sub(r"<(?:\w+:)?(\w+)>", lambda found: things[found[1]], rule.rule)


def _harvest(
    page: Element, path: str, queries: dict[str, set[str]], forms: dict[str, dict[str, str]]
) -> None:
    """What the page's links and forms name."""
    for link in page.all("a"):
        parts = urlsplit(link.attributes.get("href", ""))
        queries[parts.path or path] |= {name for name, _ in parse_qsl(parts.query, True)}
    for form in page.all("form"):
        action = urlsplit(form.attributes.get("action") or path).path
        owner = form.attributes.get("id")
        inside = [*form, *(one for one in page if owner and one.attributes.get("form") == owner)]
        named = {
            one.attributes["name"]: one.attributes.get("value", "")
            for one in inside
            if one.tag in ("input", "select", "textarea", "button") and one.attributes.get("name")
        }
        if form.attributes.get("method", "get").lower() != "post":
            queries[action] |= set(named)
        elif action not in LEAVES:
            forms.setdefault(action, named)
