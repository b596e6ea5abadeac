"""CloudEvents at the edge: a body that is one is a publication, and answers are made of them on request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from flask import Request
from orjson import Fragment, dumps
from pydantic import BaseModel, ConfigDict, Field, RootModel

from blueprints import examples
from blueprints.bodies import MOST_ERRORS, checked, read_members
from blueprints.calls import Reply
from blueprints.fields import Body
from blueprints.raw_json import Raw, read_object
from extensions import house
from restante.bridges import cloud_events
from restante.bridges.cloud_events import MEDIA_TYPE, OURS
from restante.errors import ValidationFailed

BATCH = "application/cloudevents-batch+json"
_DATA = frozenset({"data"})
_KEPT = frozenset({"payload", "result"})
Attribute = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a body of another media type is read; `documented` says what it looks like."""

    read: Callable[[bytes], Body]
    documented: type[BaseModel]
    examples: dict[str, Any]


class CloudEvent(BaseModel):
    """A CloudEvent in the JSON format; other attributes are kept with it."""

    model_config = ConfigDict(extra="allow")

    specversion: Literal["1.0"]
    id: Attribute
    source: Attribute
    type: Annotated[str, Field(min_length=1, max_length=128)]
    time: Attribute | None = None
    subject: Attribute | None = None
    datacontenttype: Attribute | None = None
    dataschema: Attribute | None = None
    data: Any = None
    data_base64: Attribute | None = None


class CloudEvents(RootModel[list[CloudEvent]]):
    """A batch; what the answer says besides is in fields `Restante-…`."""


def _closed(schema: dict[str, Any]) -> None:
    """Names and values that attributes may have."""
    ours = "|".join(name for name in cloud_events.PUBLISHED_AS if name.startswith(OURS))
    schema["propertyNames"] = {"pattern": f"^({ours}|data_base64|(?!{OURS})[a-z0-9]{{1,64}})$"}
    schema["additionalProperties"] = {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "integer", "minimum": -(2**31), "maximum": 2**31 - 1},
            {"type": ["boolean", "null"]},
        ]
    }


class PublishedCloudEvent(CloudEvent):
    """A CloudEvent, and in its attributes that begin with `restante` how it is published."""

    model_config = ConfigDict(json_schema_extra=_closed)

    restanteproject: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="A project of every recipient.")
    ]
    restantepriority: Annotated[int, Field(ge=-100, le=100)] | None = None
    restantereplyto: Attribute | None = None
    restantemaxattempts: Annotated[int, Field(ge=1, le=100)] | None = None
    correlationid: Annotated[str, Field(max_length=200)] | None = None
    causationid: Annotated[str, Field(max_length=200)] | None = None
    partitionkey: Annotated[str, Field(max_length=200, description="The ordering key.")] | None = (
        None
    )
    expirytime: (
        Annotated[str, Field(description="Expires if nobody has begun it by then.")] | None
    ) = None


class AddressedCloudEvent(PublishedCloudEvent):
    """The same, with whom it is for."""

    restanterecipients: Annotated[
        str, Field(min_length=1, description="Agents, with commas between.")
    ]


EXAMPLE: dict[str, Any] = {
    "specversion": "1.0",
    "id": "build-512",
    "source": "https://ci.example/acme/site",
    "type": "build.finished",
    "time": "2031-05-01T09:30:00Z",
    "subject": "main",
    "restanteproject": "main",
    "partitionkey": "acme/site",
    "data": {"build": 512, "state": "green"},
}
TOLD: dict[str, Any] = {
    "specversion": "1.0",
    "id": examples.EVENT_ID,
    "source": f"https://inbox.example/{examples.EVENT['producer']['id']}",
    "type": "build.finished",
    "time": examples.CREATED_AT,
    "restanteevent": examples.EVENT_ID,
    "restanteproject": "main",
    "restantesequence": "1045",
    "restantestatus": "pending",
    "restantesender": examples.EVENT["producer"]["id"],
    "restantesigned": False,
    "datacontenttype": "application/json",
    "data": examples.PAYLOAD,
}


def taking(message: type[Body], documented: type[BaseModel], **members: str) -> dict[str, Reading]:
    """Publications as CloudEvents, for an endpoint whose body is such a `message`."""
    example = {"cloud event": {**EXAMPLE, **members}}
    return {MEDIA_TYPE: Reading(lambda text: _read(text, message), documented, example)}


def _read(text: bytes, message: type[Body]) -> Body:
    value = read_members(text, _DATA)
    if found := cloud_events.faults(value):
        raise ValidationFailed(errors=found[:MOST_ERRORS])
    data: Raw | None = value.get("data")
    kept = cloud_events.payload(value, None if data is None else data.text)
    try:
        members = {**cloud_events.publication(value), "payload": Raw(kept, dict(value), [])}
        read: Body = checked(members, message)
    except ValidationFailed as error:
        raise ValidationFailed(
            errors=[
                {**fault, "pointer": cloud_events.attribute_of(fault["pointer"])}
                for fault in error.members["errors"]
            ]
        ) from None
    return read


def negotiated(reply: Reply, asked: Request) -> Reply:
    """The reply, its events as CloudEvents where the request prefers them.

    One event is one; a list is a batch, and what the answer says besides goes into fields `Restante-…`.
    """
    headers = {**reply.headers, "Vary": "Accept"}
    if not _are_wanted(asked) or reply.status != 200:
        return replace(reply, headers=headers)
    content = reply.content
    if type(content) is bytes:
        return replace(reply, content=_told(content), headers=headers, media_type=MEDIA_TYPE)
    events = [Fragment(_told(dumps(event))) for event in content["events"]]
    for name, value in content.items():
        if name != "events" and value is not None:
            headers[f"Restante-{name.replace('_', '-').title()}"] = (
                value if type(value) is str else dumps(value).decode()
            )
    return replace(reply, content=events, headers=headers, media_type=BATCH)


def _are_wanted(asked: Request) -> bool:
    if "cloudevents" not in asked.environ.get("HTTP_ACCEPT", ""):
        return False
    best = asked.accept_mimetypes.best_match(("application/json", MEDIA_TYPE, BATCH))
    return best in (MEDIA_TYPE, BATCH)


def _told(event: bytes) -> bytes:
    members = read_object(event, _KEPT)
    payload: Raw | None = members["payload"]
    value, text = (None, None) if payload is None else (payload.value, payload.text)
    return cloud_events.leaving(members, value, text, public_url=house().settings.public_url)
