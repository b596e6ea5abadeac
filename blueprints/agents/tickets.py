"""Tickets with which a page of another origin subscribes (contract 5.1): EventSource sends no token."""

from __future__ import annotations

from flask import Request

from blueprints.access import own
from blueprints.agents.blueprint import agents
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, NoBody
from blueprints.idempotency import refuse_key
from blueprints.principal import authenticate, bearer
from extensions import house
from restante.errors import AmbiguousCredentials, Unauthenticated
from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.identity.subscribe_tickets import TICKET_SECONDS, find_ticket, give_ticket
from restante.identity.tokens import Claims
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

PARAMETER = "ticket"


class Ticket(Answer):
    """Good once, for `GET …/subscribe?ticket=`."""

    ticket: str
    expires_in_seconds: int


@Endpoint(
    method="POST",
    access=own(Verb.READ),
    tag="Inbox",
    summary="Get a ticket to subscribe with",
    description="For the EventSource of a browser, which cannot send a token: `GET "
    "/api/v1/agents/{agent_id}/subscribe?ticket=` opens one stream, once, within 30 s. The stream is that of "
    "the token this is asked with: it ends when that ends or is revoked, and hears the projects it covers. "
    "EventSource does not come back by itself with a ticket that is spent: get a new one for each stream. No "
    "Idempotency-Key: the answer is a secret that is not kept.",
    body=NoBody,
    body_optional=True,
    examples={"plain": {}},
    answer=Ticket,
    answer_examples={
        "one": {
            "ticket": "rstt_4kQyT0cJm1x8VbN2sWfLz7RdPe6HgA9uYoKiXqC3MnE",
            "expires_in_seconds": TICKET_SECONDS,
        }
    },
    status=201,
).route(agents, "/subscribe-tickets")
def make_subscribe_ticket(session: Session, call: Call) -> Reply:
    """A ticket."""
    refuse_key(call)
    ticket = give_ticket(session, call.claims)
    return Reply({"ticket": ticket, "expires_in_seconds": TICKET_SECONDS}, 201)


def admitted(asked: Request, agent_id: str) -> tuple[Claims, Principal, str | None]:
    """Who subscribes, by his token or by a ticket that was got with it, which is told; it is not spent yet.

    Raises Unauthenticated, alike for a ticket that is spent, over, another agent's or none at all, and
    AmbiguousCredentials (a token too).
    """
    ticket = asked.args.get(PARAMETER) if asked.environ.get("QUERY_STRING") else None
    if ticket is None:
        return *authenticate(asked), None
    if asked.environ.get("HTTP_AUTHORIZATION", "").strip() or "access_token" in asked.args:
        raise AmbiguousCredentials
    here = house()
    recipient_id = decode_id(Prefix.AGENT, agent_id) or b""
    claims = here.database.run(lambda session: find_ticket(session, recipient_id, ticket))
    if claims is None:
        raise Unauthenticated("ticket", presented=True)
    here.authority.check(claims)
    return *bearer(asked, claims), ticket
