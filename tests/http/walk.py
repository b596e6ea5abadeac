"""A call of every route that would succeed: what walks over the URL map spoil one thing at a time.

A route that is new has no call here, and the walks fail until it has: add it to CALLS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any

from flask import Flask
from werkzeug.routing import Rule

from blueprints.access import Access, stated_by
from restante.identity.scopes import TenantScope, Verb
from tests.http.callbacks import SECRET
from tests.http.world import Caller, unknown_id

ALL_VERBS = [verb.value for verb in Verb]
ALL_TENANT = [scope.value for scope in TenantScope]
A, ADMIN = "/api/v1/agents/<agent_id>", "/api/v1/admin"
ONE = f"{A}/inbox/<event_id>"
MEMORY = f"{A}/memory/<project>/<key:key>"
CALLBACK = f"{A}/callbacks/<callback_id>"
ROOM = "/api/v1/rooms/<room_id>"
AGENT, SERVICE = f"{ADMIN}/agents/<agent_id>", f"{ADMIN}/services/<service_id>"
OF_PATHS = (
    *("agent_id", "event_id", "key_id", "room_id", "job_id", "assignment_id", "service_id"),
    "callback_id",
)
JWK = {"kty": "OKP", "crv": "Ed25519", "x": "oVr7WXWFMGYqOGAIQsD4XbBIp3nNtbCRY3LzLcBYY9Q"}


@dataclass(frozen=True)
class Ids:
    """What somebody of a tenant has, by the names that routes give it, or that nobody has."""

    agent_id: str = field(default_factory=lambda: unknown_id("agt"))
    other: str = field(default_factory=lambda: unknown_id("agt"))
    event_id: str = field(default_factory=lambda: unknown_id("evt"))
    claimed: str = field(default_factory=lambda: unknown_id("evt"))
    rejected: str = field(default_factory=lambda: unknown_id("evt"))
    key_id: str = field(default_factory=lambda: unknown_id("key"))
    room_id: str = field(default_factory=lambda: unknown_id("room"))
    job_id: str = field(default_factory=lambda: unknown_id("job"))
    assignment_id: str = field(default_factory=lambda: unknown_id("asg"))
    service_id: str = field(default_factory=lambda: unknown_id("svc"))
    callback_id: str = field(default_factory=lambda: unknown_id("cb"))
    active: str = field(default_factory=lambda: unknown_id("cb"))
    suspended: str = field(default_factory=lambda: unknown_id("cb"))
    agent_credential: str = field(default_factory=lambda: unknown_id("key"))
    service_credential: str = field(default_factory=lambda: unknown_id("key"))
    project: str = "main"
    slug: str = "main"
    key: str = "some/key"


@dataclass(frozen=True)
class Good:
    """A call that succeeds: its body and query by ids; `named`: what the path means by its names."""

    body: Callable[[Ids], Any] | None = None
    query: Callable[[Ids], str] = lambda _: ""
    named: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    def path(self, rule: str, ids: Ids) -> str:
        """The address, with these ids in it."""
        for name in OF_PATHS:
            found = str(getattr(ids, self.named.get(name, name)))
            for written in (f"<{name}>", f"<event:{name}>"):
                rule = rule.replace(written, found)
        if "<credential_id>" in rule:
            rule = rule.replace("<credential_id>", getattr(ids, self.named["credential_id"]))
        rule = rule.replace("<project>", ids.project).replace("<slug>", ids.slug)
        return rule.replace("<key:key>", ids.key) + self.query(ids)

    def names(self, rule: str) -> list[str]:
        """The ids that its path has."""
        known = [one.name for one in fields(Ids) if one.default_factory is not MISSING]
        names = dict.fromkeys(self.named.get(name, name) for name in (*known, "credential_id"))
        probe = replace(Ids(), **{name: f"<{name}>" for name in known})
        path = self.path(rule, probe).partition("?")[0]
        return [name for name in names if f"<{name}>" in path]


def said(**members: Any) -> Good:
    """With that body."""
    return Good(lambda _: dict(members))


def settled(**members: Any) -> Good:
    """Of the event that is claimed."""
    return Good(lambda _: {"claim_generation": 1, **members}, named={"event_id": "claimed"})


def job_of(reason: str) -> Good:
    return Good(lambda ids: {"event_ids": [ids.rejected], "reason": reason})


NOTHING = Good()
PUBLICATION = {"project": "main", "type": "t", "payload": {"n": 1}}
CALLS: dict[tuple[str, str], Good] = {
    ("POST", f"{A}/events"): said(**PUBLICATION),
    ("POST", "/api/v1/a2a/receivers"): Good(
        lambda ids: {"recipient": ids.agent_id, "project": "main"}
    ),
    ("GET", f"{A}/inbox"): NOTHING,
    ("GET", f"{A}/inbox/<event:event_id>"): NOTHING,
    ("POST", f"{ONE}/ack"): settled(result={}),
    ("POST", f"{ONE}/release"): settled(),
    ("POST", f"{ONE}/reject"): settled(reason="no"),
    ("POST", f"{ONE}/renew"): settled(),
    ("POST", f"{A}/inbox/claim"): said(limit=1),
    ("GET", f"{A}/inbox/claims"): Good(query=lambda _: "?consumer=c"),
    ("POST", f"{A}/inbox/commit"): said(through_cursor=1),
    ("POST", f"{A}/inbox/release"): said(consumer="c"),
    ("POST", f"{A}/inbox/settle"): Good(
        lambda ids: {"ack": [{"event_id": ids.claimed, "claim_generation": 1}]}
    ),
    ("GET", f"{A}/inbox/stats"): NOTHING,
    ("POST", f"{A}/inbox/turn"): Good(
        lambda ids: {
            "ack": [{"event_id": ids.claimed, "claim_generation": 1}],
            "memory": [{"project": "main", "key": "k", "value": 1}],
            "publish": [{**PUBLICATION, "recipients": [ids.other]}],
        },
        headers={"Idempotency-Key": "once"},
    ),
    ("GET", f"{A}/memory"): NOTHING,
    ("PUT", MEMORY): said(value=1),
    ("PATCH", MEMORY): said(merge={"a": 1}),
    ("DELETE", MEMORY): NOTHING,
    ("GET", MEMORY): NOTHING,
    ("POST", f"{A}/signing-keys"): said(),
    ("GET", f"{A}/signing-keys"): NOTHING,
    ("DELETE", f"{A}/signing-keys/<key_id>"): NOTHING,
    ("POST", f"{A}/callbacks/check"): said(url="https://new.example.com/"),
    ("POST", f"{A}/callbacks"): said(url="https://new.example.com/", secret=SECRET, mode="notify"),
    ("GET", f"{A}/callbacks"): NOTHING,
    ("GET", CALLBACK): NOTHING,
    ("GET", f"{CALLBACK}/attempts"): NOTHING,
    ("PATCH", CALLBACK): said(max_in_flight=2),
    ("DELETE", CALLBACK): NOTHING,
    ("POST", f"{CALLBACK}/challenge"): NOTHING,
    ("POST", f"{CALLBACK}/secret"): said(secret=SECRET),
    ("GET", f"{A}/state"): NOTHING,
    ("GET", f"{A}/subscribe"): NOTHING,
    ("POST", f"{A}/subscribe-tickets"): said(),
    ("POST", "/api/v1/events"): Good(lambda ids: {**PUBLICATION, "recipients": [ids.other]}),
    ("GET", "/api/v1/events"): Good(query=lambda ids: f"?recipient={ids.other}"),
    ("GET", "/api/v1/events/<event_id>"): NOTHING,
    ("POST", "/api/v1/events/<event_id>/cancel"): said(reason="no"),
    ("POST", "/api/v1/rooms"): Good(
        lambda ids: {"project": "main", "name": "new", "members": [ids.other]}
    ),
    ("GET", "/api/v1/rooms"): NOTHING,
    ("GET", ROOM): NOTHING,
    ("PUT", f"{ROOM}/members/<agent_id>"): Good(named={"agent_id": "other"}),
    ("DELETE", f"{ROOM}/members/<agent_id>"): NOTHING,
    ("POST", f"{ROOM}/posts"): said(content="hello"),
    ("GET", f"{ROOM}/posts"): NOTHING,
    ("POST", "/api/v1/assignments"): Good(
        lambda ids: {"project": "main", "candidates": [ids.other], "payload": {}}
    ),
    ("GET", "/api/v1/assignments/<assignment_id>"): NOTHING,
    ("POST", "/api/v1/assignments/<assignment_id>/cancel"): said(reason="no"),
    ("POST", f"{ADMIN}/assignments/<assignment_id>/reassign"): Good(
        lambda ids: {"agent_id": ids.agent_id, "reason": "no"}
    ),
    ("POST", f"{ADMIN}/agents"): said(name="new"),
    ("GET", f"{ADMIN}/agents"): NOTHING,
    ("GET", AGENT): NOTHING,
    ("PATCH", AGENT): said(max_pending=9),
    ("GET", f"{AGENT}/credentials"): NOTHING,
    ("POST", f"{AGENT}/credentials"): said(type="public_jwk", public_jwk=JWK),
    ("DELETE", f"{AGENT}/credentials/<credential_id>"): Good(
        named={"credential_id": "agent_credential"}
    ),
    ("GET", f"{AGENT}/grants"): NOTHING,
    ("PUT", f"{AGENT}/grants"): said(grants=["agent:main:read"]),
    **{
        ("POST", f"{AGENT}/{step}"): NOTHING
        for step in ("disable", "enable", "pause", "remove", "resume")
    },
    ("GET", f"{ADMIN}/audit"): NOTHING,
    ("GET", f"{ADMIN}/callbacks"): NOTHING,
    ("GET", f"{ADMIN}/callbacks/<callback_id>"): NOTHING,
    ("GET", f"{ADMIN}/callbacks/<callback_id>/attempts"): NOTHING,
    **{
        ("POST", f"{ADMIN}/callbacks/<callback_id>/{step}"): Good(
            lambda _: {"reason": "agreed"}, named={"callback_id": which}
        )
        for step, which in (
            ("approve", "callback_id"),
            ("reject", "callback_id"),
            ("suspend", "active"),
            ("resume", "suspended"),
        )
    },
    ("GET", f"{ADMIN}/jobs/<job_id>"): NOTHING,
    ("POST", f"{ADMIN}/jobs/<job_id>/cancel"): NOTHING,
    ("GET", f"{ADMIN}/projects"): NOTHING,
    ("POST", f"{ADMIN}/projects"): said(slug="new"),
    ("PATCH", f"{ADMIN}/projects/<slug>"): said(on_quarantine="hold"),
    ("GET", f"{ADMIN}/quarantine"): NOTHING,
    ("POST", f"{ADMIN}/quarantine/discard"): job_of("no"),
    ("POST", f"{ADMIN}/quarantine/redrive"): job_of("mended"),
    ("GET", f"{ADMIN}/services"): NOTHING,
    ("POST", f"{ADMIN}/services"): said(name="new", scopes=["tenant:agents:read"]),
    ("GET", SERVICE): NOTHING,
    ("GET", f"{SERVICE}/credentials"): NOTHING,
    ("POST", f"{SERVICE}/credentials"): said(type="public_jwk", public_jwk=JWK),
    ("DELETE", f"{SERVICE}/credentials/<credential_id>"): Good(
        named={"credential_id": "service_credential"}
    ),
    **{("POST", f"{SERVICE}/{step}"): NOTHING for step in ("disable", "enable", "remove")},
    ("GET", f"{ADMIN}/tenant"): NOTHING,
    ("PATCH", f"{ADMIN}/tenant"): said(max_pending=1_000_000),
}


@dataclass(frozen=True)
class Route:
    """A route that takes a token, and its good call."""

    method: str
    rule: str
    access: Access
    good: Good

    def __str__(self) -> str:
        return f"{self.method} {self.rule}"

    @property
    def administers(self) -> bool:
        """A service calls it, not an agent."""
        return not any(isinstance(scope, Verb) for scope in self.access.scopes)

    def given(self, ids: Ids) -> dict[str, Any]:
        """The body, as a test client takes it."""
        return {} if self.good.body is None else {"json": self.good.body(ids)}

    def call(self, who: Caller, ids: Ids, **given: Any) -> Any:
        """The answer to it with that caller's token, or with the headers given."""
        path = self.good.path(self.rule, ids)
        headers = {**self.good.headers, **given.pop("headers", {})}
        answer = who.call(self.method, path, headers=headers, **{**self.given(ids), **given})
        answer.close()  # a stream would stay open
        return answer


def token_rules(app: Flask) -> list[tuple[Rule, str, Access]]:
    """(rule, method, access) of every route with a token; HEAD goes with GET."""
    found = []
    for rule in app.url_map.iter_rules():
        access = stated_by(app.view_functions[rule.endpoint])
        assert access is not None, f"{rule.rule} does not state who may call it"
        if not access.public and not access.session:
            found += [
                (rule, method, access) for method in sorted((rule.methods or set()) - {"HEAD"})
            ]
    return found


def routes(app: Flask) -> list[Route]:
    """All that have their call here; that all have is a test of its own (test_walk_succeeds.py)."""
    return [
        Route(method, rule.rule, access, CALLS[method, rule.rule])
        for rule, method, access in token_rules(app)
        if (method, rule.rule) in CALLS
    ]
