"""A2A's push notifications as events of an inbox: where a token for them is got, and where they are sent."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated

import orjson
from flask import Blueprint, Response, request
from pydantic import Field

from blueprints import examples
from blueprints.access import any_of, public, states
from blueprints.bodies import read_bytes
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, IdText, Slug
from blueprints.idempotency import refuse_key
from blueprints.principal import bearer
from blueprints.problems import MalformedJson
from blueprints.publication_sizes import check_size
from blueprints.raw_json import NoObject, Raw, read_object
from blueprints.shapes import WireInstant
from extensions import house
from restante.bridges.a2a import TOKEN_FIELD, notification
from restante.bridges.a2a_tokens import Receiver, Receivers
from restante.errors import RecipientRefused, Unauthenticated, ValidationFailed
from restante.identity.names import UNTIDY, is_tidy
from restante.identity.principal import Principal
from restante.identity.scopes import ProjectScope, Scope, TenantScope, Verb
from restante.identity.signatures.refusals import SignatureMissing
from restante.identity.tokens import new_token_id
from restante.inbox.envelope import instant
from restante.inbox.publication import Publication
from restante.inbox.publish import publish, write
from restante.inbox.recipients import check_recipients
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

blueprint = Blueprint("a2a", __name__, url_prefix="/api/v1/a2a")
NOTIFICATIONS = "/notifications"
A2A_JSON = "application/a2a+json"
MOST_DAYS = 30


class ReceiverBody(Body):
    """Whose inbox, in which project, for how long."""

    recipient: IdText
    project: Annotated[Slug, Field(description="A project that the recipient has.")]
    expires_in_seconds: Annotated[int, Field(ge=60, le=MOST_DAYS * 86_400)] = 86_400


class MadeReceiver(Answer):
    """For the `url` and `token` of an A2A push notification configuration."""

    url: str
    token: str
    expires_at: WireInstant


@Endpoint(
    method="POST",
    access=any_of(Verb.PUBLISH, TenantScope.EVENTS_PUBLISH),
    tag="Publishing",
    summary="Get a token for A2A push notifications",
    description="An A2A server that is given this `url` and `token` sends what becomes of a task there, and "
    "each update is an event of the recipient's inbox: type `a2a.task`, `a2a.message`, `a2a.status-update` "
    "or `a2a.artifact-update`, the notification as its payload, the task's id as correlation_id and ordering "
    "key. Its producer is who asks for the token: make a service for each server that is to be told apart. "
    "The token is good while the credential it was got with, and the right to publish there, are; to end it "
    "alone, send it to `POST /oauth/revoke`. No "
    "Idempotency-Key: the answer is a secret that is not kept. Agents that have to sign cannot lend their "
    "right: a service does.",
    body=ReceiverBody,
    examples={"a day": {"recipient": examples.AGENT_ID, "project": "main"}},
    answer=MadeReceiver,
    answer_examples={
        "made": {
            "url": "https://inbox.example/api/v1/a2a/notifications",
            "token": "rsta_AVr7WXWFMGYqOGAIQsD4XbBIp3nNtbCRY3LzLcBYY9Q",
            "expires_at": examples.LATER,
        }
    },
    status=201,
    problems=(RecipientRefused,),
).route(blueprint, "/receivers")
def make_receiver(session: Session, call: Call) -> Reply:
    """A token."""
    refuse_key(call)
    asked: ReceiverBody = call.body
    principal = call.principal
    if principal.must_sign:
        raise ValidationFailed.at(
            "", "agents of this tenant sign: have a service ask for the token"
        )
    recipient_id = decode_id(Prefix.AGENT, asked.recipient)
    if recipient_id is None:
        raise RecipientRefused(recipients=[asked.recipient])
    principal.require(Verb.PUBLISH, asked.project)
    check_recipients(session, principal, [_publication(recipient_id, asked.project)])
    now = int(database_now(session).replace(tzinfo=UTC).timestamp())
    until = now + asked.expires_in_seconds
    lender = replace(
        call.claims,
        scopes=_lent(principal, asked.project),
        issued_at=now,
        expires_at=until,
        # a token for a day does not end with one of ten minutes, and may end before its time
        token_id=new_token_id(),
    )
    made = Receivers(house().settings.secret_keys).token(
        Receiver(lender=lender, recipient_id=recipient_id, project=asked.project)
    )
    return Reply(
        {
            "url": f"{house().settings.public_url}{blueprint.url_prefix}{NOTIFICATIONS}",
            "token": made,
            "expires_at": instant(datetime.fromtimestamp(until, UTC).replace(tzinfo=None)),
        },
        201,
    )


def _lent(principal: Principal, project: str) -> frozenset[Scope]:
    """Of its scopes the one that lets it publish there."""
    everywhere = TenantScope.EVENTS_PUBLISH
    one = ProjectScope(project, Verb.PUBLISH)
    return frozenset({everywhere if everywhere in principal.scopes else one})


@blueprint.post(NOTIFICATIONS)
@states(public("is let in by a token of its own"))
def notify() -> Response:
    """Take a notification: 204 once it is an event."""
    asked = request._get_current_object()  # type: ignore[attr-defined] # noqa: SLF001 - Flask's own way
    here = house()
    token = asked.environ.get("HTTP_X_A2A_NOTIFICATION_TOKEN", "")
    receiver = Receivers(here.settings.secret_keys).read(token, now=here.authority.now())
    if receiver is None:
        raise Unauthenticated(TOKEN_FIELD, presented=bool(token))
    _, lender = bearer(asked, receiver.lender)
    if lender.must_sign:
        raise SignatureMissing
    lender.require(Verb.PUBLISH, receiver.project)
    here.rates.take(lender.id)
    text = read_bytes(asked, here.settings.body_limit_bytes, (A2A_JSON,))
    publication = read_notification(text, receiver, here.settings.payload_limit_bytes)

    def work(session: Session) -> None:
        publish(session, lender, [publication])
        write(session)

    here.database.run(work)
    return Response(status=204)


def read_notification(text: bytes, receiver: Receiver, most: int) -> Publication:
    """As a publication. Raises MalformedJson, PayloadTooLarge and ValidationFailed."""
    try:
        orjson.loads(text)
        # within a member it may be as deep as any payload
        payload: Raw = read_object(b'{"payload":%b}' % text, frozenset({"payload"}))["payload"]
    except (NoObject, orjson.JSONDecodeError) as error:
        raise MalformedJson(f"The body is no JSON: {error}") from None
    # null is no Raw
    is_object = type(payload) is Raw and type(payload.value) is dict
    told = notification(payload.value) if is_object else None
    if told is None:
        raise ValidationFailed.at(
            "", "must be a push notification of A2A: a task, a message or an update of one"
        )
    check_size([[payload]], [["recipient"]], most, many=False)
    if told.task is not None and not is_tidy(told.task):
        raise ValidationFailed.at("/taskId", UNTIDY)
    return replace(
        _publication(receiver.recipient_id, receiver.project),
        type=told.type,
        payload=payload.text,
        correlation_id=told.task,
        ordering_key=told.task,
    )


def _publication(recipient_id: bytes, project: str) -> Publication:
    return Publication(recipients=(recipient_id,), project=project, type="a2a", payload=b"{}")
