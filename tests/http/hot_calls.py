"""The calls that agents and producers make most, each with what has to be there before it.

However they are carried: in this process, or over a connection to a server. A test counts what they
ask of the database (test_performance_page.py), and `bench/requests.py` measures them.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from restante.identity.agents import create_agent
from restante.identity.machines import Enrolled
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session
from tests.http.signing import Signer

SLUG = "hot"
GRANTS = tuple(f"agent:{SLUG}:{verb}" for verb in ("read", "claim", "publish", "memory"))
PAYLOAD = {"type": "note", "text": "x" * 270}
PAGE = 10
KEYS = 50
"""Keys that an agent remembers."""
LEASE_SECONDS = 600
"""So that no lease ends while things are measured."""
ONE = {"limit": 1, "lease_seconds": LEASE_SECONDS}


@dataclass(frozen=True)
class Request:
    """What is sent."""

    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Carry = Callable[[Request], Answer]


@dataclass(frozen=True)
class Enrolment:
    """An agent, another one that it writes to, and the producer: ids, and secrets to sign in with."""

    agent: tuple[str, str]
    peer: tuple[str, str]
    producer: tuple[str, str]


def enrol(session: Session, count: int) -> list[Enrolment]:
    """A tenant that takes unsigned requests, with so many pairs of agents and a producer."""
    tenant_id = create_tenant(session, f"hot-{secrets.token_hex(4)}", require_signatures=False).id
    create_project(session, tenant_id, SLUG)
    made = create_service(
        session, tenant_id, name="producer", scopes=["tenant:events:publish", "tenant:memory:write"]
    )
    producer = encode_id(Prefix.SERVICE, made.id), made.client_secret

    def agent(name: str) -> tuple[str, str]:
        one: Enrolled = create_agent(session, tenant_id, name=name, grants=GRANTS)
        return encode_id(Prefix.AGENT, one.id), one.client_secret

    return [Enrolment(agent(f"agent-{n}"), agent(f"peer-{n}"), producer) for n in range(count)]


class Desk:
    """From where an agent's and the producer's calls are made. `origin`: the server's, for signatures."""

    def __init__(self, carry: Carry, who: Enrolment, *, authority: str) -> None:
        self._carry, self._who = carry, who
        self.agent_id, self.peer_id = who.agent[0], who.peer[0]
        self._tokens = {
            who.agent: self._token(who.agent, " ".join(GRANTS)),
            who.producer: self._token(who.producer, ""),
        }
        minted = self.done(self.as_agent("POST", "A/signing-keys", {})).json
        self.signer = Signer(minted["key_id"], minted["secret"], authority)

    def done(self, request: Request) -> Answer:
        """The answer of a request that must succeed."""
        answer = self._carry(request)
        if answer.status not in (200, 201):
            raise RuntimeError(f"{request.method} {request.path}: {answer.status} {answer.body!r}")
        return answer

    def as_agent(self, method: str, path: str, body: Any = None, **headers: str) -> Request:
        """A request of the agent; `A/…` is its own."""
        return self._request(self._who.agent, method, path, body, headers)

    def as_producer(self, method: str, path: str, body: Any = None) -> Request:
        """A request of the producer."""
        return self._request(self._who.producer, method, path, body, {})

    def signed(self, method: str, path: str, body: Any) -> Request:
        """As the agent's, and signed."""
        plain = self.as_agent(method, path, body)
        fields = self.signer.fields(method, plain.path, plain.body)
        headers = {**plain.headers, **fields, "Host": self.signer.authority}
        return Request(method, plain.path, plain.body, headers)

    def token_request(self, who: tuple[str, str] | None = None, scope: str = "") -> Request:
        """What gets the agent a token by its secret."""
        one = who or self._who.agent
        basic = base64.b64encode(":".join(one).encode()).decode()
        form = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
        headers = {
            "Authorization": f"Basic {basic}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return Request("POST", "/oauth/token", urlencode(form).encode(), headers)

    def _token(self, who: tuple[str, str], scope: str) -> str:
        token: str = self.done(self.token_request(who, scope)).json["access_token"]
        return token

    def _request(
        self, who: tuple[str, str], method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> Request:
        if path.startswith("A/"):
            path = f"agents/{self.agent_id}/{path[2:]}"
        content = b"" if body is None else json.dumps(body).encode()
        typed = {} if body is None else {"Content-Type": "application/json"}
        token = {"Authorization": f"Bearer {self._tokens[who]}"}
        return Request(method, f"/api/v1/{path}", content, {**token, **typed, **headers})

    def publication(self, *recipients: str) -> dict[str, Any]:
        return {"recipients": list(recipients), "project": SLUG, "payload": PAYLOAD}

    def publish(self, count: int = 1) -> None:
        """Have so many events in the agent's inbox."""
        events = [self.publication(self.agent_id)] * count
        if events:
            self.done(self.as_producer("POST", "events", {"events": events}))

    def claim(self) -> list[dict[str, Any]]:
        """Claim everything there is; fences of what came."""
        everything = {**ONE, "limit": 100}
        events = self.done(self.as_agent("POST", "A/inbox/claim", everything)).json["events"]
        return [{name: e[name] for name in ("event_id", "claim_generation")} for e in events]


def publish(desk: Desk) -> Request:
    return desk.as_producer("POST", "events", desk.publication(desk.agent_id))


def claim(desk: Desk) -> Request:
    desk.publish()
    return desk.as_agent("POST", "A/inbox/claim", ONE)


def claim_in_vain(desk: Desk) -> Request:
    desk.claim()
    return desk.as_agent("POST", "A/inbox/claim", ONE)


def settle(desk: Desk) -> Request:
    desk.publish()
    return desk.as_agent("POST", "A/inbox/settle", {"ack": desk.claim()})


def ack(desk: Desk) -> Request:
    desk.publish()
    held = desk.claim()[-1]
    fence = {"claim_generation": held["claim_generation"]}
    return desk.as_agent("POST", f"A/inbox/{held['event_id']}/ack", fence)


def turn(desk: Desk) -> Request:
    """An answer, what was learnt, and a follow-up for another agent."""
    desk.publish()
    body = {
        "ack": desk.claim()[-1:],
        "memory": [{"project": SLUG, "key": "last", "value": PAYLOAD}],
        "publish": [desk.publication(desk.peer_id)],
    }
    return desk.as_agent("POST", "A/inbox/turn", body, **{"Idempotency-Key": secrets.token_hex(8)})


def read(desk: Desk) -> Request:
    """A full page."""
    page = desk.as_agent("GET", f"A/inbox?limit={PAGE}")
    desk.publish(max(0, PAGE - len(desk.done(page).json["events"])))
    return page


def state(desk: Desk) -> Request:
    """All that is remembered, on one page."""
    known = desk.done(desk.as_agent("GET", "A/memory")).json["entries"]
    for number in range(0 if known else KEYS):
        value = {"value": {"text": "x" * 100}}
        desk.done(desk.as_agent("PUT", f"A/memory/{SLUG}/key-{number}", value))
    return desk.as_agent("GET", "A/state")


def token(desk: Desk) -> Request:
    return desk.token_request()


def subscribe(desk: Desk) -> Request:
    return desk.as_agent("GET", "A/subscribe")


def signed_claim(desk: Desk) -> Request:
    desk.publish()
    return desk.signed("POST", "A/inbox/claim", ONE)


Prepare = Callable[[Desk], Request]
"""Makes what a call needs → the call."""
