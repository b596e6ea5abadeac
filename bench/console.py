"""The console of a tenant with a million events or more, and the scrape, beside that of one with a thousand.

Every page and part that the URL map has, and what links and fields of choice on them make of it (a
filter, another order, the next page): in process, in the small tenant and in the large one by turns.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from bench.furnishing import AGENTS, WAVE, furnish
from bench.hurry import hurried
from blueprints.access import stated_by
from restante.identity.roles import Role
from restante.sampling.samples import latest_samples
from tests.browser.pages import NO_PAGES, pages_of
from tests.console.browsing import Browser, operator_of, signed_in
from tests.console.html import Element
from tests.console.things import things_of
from tests.http.world import open_world
from tests.support.servers import Server
from tests.support.serving import RestanteCommand
from workers.sampler import Sampler

FEW, MANY = 1_000, 1_000_000
MOST = 1.5
"""A page of the large tenant may take so many times its median in the small one."""
TURNS = frozenset({"page", "before", "from"})
"""What of an address says how far one has turned: only the large tenant may have such a place."""
COUNTING = frozenset(
    {"/quarantine/redrive", "/quarantine/discard", "/quarantine/amend", "/audit/verification"}
)
"""Dry runs look at each event that would go, and a verification at a piece of the audit: up to their bounds
their time is that of what they are asked about."""
ONCE = frozenset({"/sign-in/again/kept/<draft_id>"})
"""What was typed before a fresh proof, shown again to whoever typed it, for half an hour."""
PROOF_SECONDS = 120.0
ALIKE = 4
"""Values of a field that are tried."""
PLATFORM = "/platform"
SCRAPE = "/metrics"
ID_LENGTH = 16
_FOREIGN = re.compile(r"[a-z]+_[0-9a-f]{32}")


@dataclass(frozen=True)
class Shown:
    """A page, medians in milliseconds. `address`: with `{name}` for what has an id."""

    kind: str
    address: str
    small_ms: float
    large_ms: float

    @property
    def ratio(self) -> float:
        """How many times as long where there is much."""
        return self.large_ms / self.small_ms

    def told(self) -> dict[str, Any]:
        """For the result file."""
        return {**asdict(self), "ratio": self.ratio}


class House:
    """A console on a database of its own, with somebody of the tenant and of the platform signed in."""

    def __init__(self, url: str, events: int, agents: int, closing: ExitStack) -> None:
        RestanteCommand(url).upgrade()
        self.world = closing.enter_context(open_world(url, {}))
        home, ids = things_of(self.world, "acme", "anna", slug="main")
        furnish(self.world, home, events, agents=agents)
        self._sampler, self._due_at = Sampler(self.world.house.database), 0.0
        self.sample()
        self.ids: dict[str, str] = {**ids, "signature": WAVE}
        self._operators = (
            operator_of(self.world, role=Role.TENANT_ADMIN),
            operator_of(self.world, None, Role.PLATFORM_ADMIN, "root@example.com"),
        )
        self._browsers: dict[bool, Browser] = {}
        self._signed_in_at = float("-inf")
        self.sign_in()

    def sign_in(self) -> None:
        """Anew, before some pages want a fresh proof."""
        if time.monotonic() > self._signed_in_at + PROOF_SECONDS:
            self._signed_in_at = time.monotonic()
            self._browsers = {
                who.tenant_id is None: signed_in(self.world, who) for who in self._operators
            }

    def sample(self) -> None:
        """As the maintenance does every fifteen seconds, or as seldom as it says itself."""
        began = time.monotonic()
        if began < self._due_at:
            return
        self._sampler.run_once()
        ended = time.monotonic()
        self._due_at = ended + self._sampler.next_pause(ended - began)
        house = self.world.house
        house.metrics.figures = house.database.run(latest_samples)

    def browser(self, path: str) -> Browser:
        """Whose page it is."""
        return self._browsers[path.startswith(PLATFORM)]

    def seconds(self, path: str) -> float:
        """Of one answer, which must be a page."""
        browser = self.browser(path)
        began = time.perf_counter()
        answer = browser.get(path)
        took = time.perf_counter() - began
        if answer.status_code != 200:
            raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:300]}")
        return took


def measure(server: Server, *, events: int, agents: int, samples: int) -> Iterator[Shown]:
    """Each address, in both houses by turns; the large one has so many agents."""
    with ExitStack() as closing:
        with hurried(server):
            few, many = (
                House(server.create_database(f"bench_console_{name}"), *amounts, closing)
                for name, amounts in (("few", (FEW, AGENTS)), ("many", (events, agents)))
            )
        gc.collect()
        gc.freeze()  # what both houses are made of is not looked through for each page
        closing.callback(gc.unfreeze)
        for named, path in {SCRAPE: SCRAPE, **addresses(many)}.items():
            pairs = ((few, _of(few, named)), (many, path))
            for house, _ in pairs:
                house.sample()
                house.sign_in()
            laps: list[list[float]] = [
                [house.seconds(its) for house, its in pairs] for _ in range(samples + 1)
            ]
            small, large = (1_000 * median(took) for took in zip(*laps[1:], strict=True))
            yield Shown(server.kind, named, small, large)


def addresses(house: House) -> dict[str, str]:
    """{with `{name}` for what has an id and without how far it is turned: as the house has it}."""
    app = house.world.app
    for rule in app.url_map.iter_rules():
        access = stated_by(app.view_functions[rule.endpoint])
        is_page = access is not None and access.session and "GET" in (rule.methods or ())
        is_shown = is_page and rule.rule not in NO_PAGES | ONCE
        if is_shown and not rule.arguments <= house.ids.keys():
            raise RuntimeError(f"{rule.rule}: there is no example of what it names")
    pages = {
        _named(path, house.ids): path
        for role in (Role.TENANT_ADMIN, Role.PLATFORM_ADMIN)
        for path in pages_of(app, role, house.ids)
        if path.startswith(PLATFORM) is (role is Role.PLATFORM_ADMIN)
    }
    for rule in ONCE:
        pages.pop(rule.replace("<", "{").replace(">", "}"))
    found: dict[str, str] = {}
    for named, path in pages.items():
        browser = house.browser(path)
        status = browser.get(path).status_code
        if status == 404:
            raise RuntimeError(f"{path}: what it names is not there")
        if status == 200:  # else it goes on to another one, or wants to be told what is meant
            found[named] = path
        for href in _leads_to(browser.page, path):
            narrowed = _named(href, house.ids)
            place, query = urlsplit(narrowed).path, urlsplit(narrowed).query
            alike = [one for one in found if _fields(one) == _fields(narrowed)]
            if place in pages and not _FOREIGN.search(query) and len(alike) < ALIKE:
                found.setdefault(narrowed, href)
    return {named: path for named, path in found.items() if named.partition("?")[0] not in COUNTING}


def _leads_to(page: Element, path: str) -> Iterator[str]:
    for link in page.all("a"):
        href = link.attributes.get("href", "")
        yield urljoin(path, href).partition("#")[0]
    for form in page.all("form"):
        if form.attributes.get("method", "get") == "get":
            action = urljoin(path, form.attributes.get("action") or path)
            for field in form.all("select"):
                for option in field.all("option"):
                    query = {field.attributes["name"]: option.attributes.get("value", option.text)}
                    yield f"{action}?{urlencode(query)}"


def _named(href: str, ids: Mapping[str, str]) -> str:
    for name, value in ids.items():
        href = href.replace(value, f"{{{name}}}") if len(value) > ID_LENGTH else href
    parts = urlsplit(href)
    query = sorted((key, "" if key in TURNS else value) for key, value in parse_qsl(parts.query))
    return parts.path + (f"?{urlencode(query, safe='{}')}" if query else "")


def _fields(named: str) -> tuple[str, ...]:
    """Which page it is, and by which fields narrowed."""
    parts = urlsplit(named)
    return parts.path, *(key for key, _ in parse_qsl(parts.query, keep_blank_values=True))


def _of(house: House, named: str) -> str:
    """The same address in another house, at the first page."""
    for name, value in house.ids.items():
        named = named.replace(f"{{{name}}}", value)
    parts = urlsplit(named)
    query = [(key, value) for key, value in parse_qsl(parts.query) if key not in TURNS]
    return parts.path + (f"?{urlencode(query)}" if query else "")
