"""What a turn says (contract 5.7), and how its parts become the engine's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import core_schema

from blueprints.agents.memory import Value
from blueprints.agents.orders import NamedAck, NamedReject, NamedRelease, check_orders
from blueprints.bodies import RAW
from blueprints.calls import Call
from blueprints.fields import BIGGEST, Body, Slug, integral
from blueprints.publication_sizes import MOST_EVENTS
from blueprints.publications import (
    AddressedMessage,
    AddressedMessages,
    each_kind_once,
    publications_of,
)
from blueprints.tracing import publishers_traceparent
from extensions import house
from restante.coordination.entries import Expect
from restante.coordination.memory import Delete, Put, Write
from restante.coordination.memory_keys import LONGEST, check_key
from restante.coordination.turn import Refused, Turn
from restante.errors import (
    NotFound,
    PayloadTooLarge,
    RecipientRefused,
    TurnConflict,
    ValidationFailed,
)
from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.inbox.publication import Publication
from restante.storage.ids import Prefix, decode_id

MOST_WRITES = 1000


class _OneOrMany:
    """An order alone says what a list of one says."""

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self._listed, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        many = handler(schema)
        return {"anyOf": [many, many["items"]]}

    @staticmethod
    def _listed(value: Any) -> Any:
        return [value] if type(value) is dict else value


class MemoryWrite(Body):
    """What a key is to be."""

    project: Slug
    key: Annotated[str, Field(min_length=1, max_length=LONGEST)]
    value: Annotated[Value, Field(description="null deletes the key, also one that is not there.")]
    if_version: Annotated[
        int | None,
        Field(
            ge=0,
            le=BIGGEST,
            description="Only if the key is at this version; 0: only if it is not there.",
        ),
        BeforeValidator(integral),
    ] = None

    def write(self, agent: Principal) -> Write:
        """For the engine. Raises InsufficientScope."""
        expect = None
        if self.if_version is not None:
            expect = Expect(frozenset({self.if_version}) - {0}, None if self.if_version else False)
        return Write(
            project=agent.require(Verb.MEMORY, self.project),
            key=self.key,
            change=Put(self.value.text)
            if self.value.value is not None
            else Delete(must_be_there=False),
            expect=expect,
        )


class TurnBody(Body):
    """The parts of a turn. One ack, release or rejection may stand without its list."""

    raw_members: ClassVar[frozenset[str]] = RAW | {"value"}

    ack: Annotated[list[NamedAck], _OneOrMany()] | None = None
    release: Annotated[list[NamedRelease], _OneOrMany()] | None = None
    reject: Annotated[list[NamedReject], _OneOrMany()] | None = None
    memory: Annotated[list[MemoryWrite], Field(max_length=MOST_WRITES)] | None = None
    publish: (
        Annotated[
            list[AddressedMessage],
            Field(max_length=MOST_EVENTS),
            WrapValidator(each_kind_once),
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _each_once(self) -> TurnBody:
        check_orders(self, "ack", "release", "reject")
        seen: set[tuple[str, str]] = set()
        for index, write in enumerate(self.memory or ()):
            check_key(write.key, f"/memory/{index}/key")
            if (write.project, write.key) in seen:
                raise ValidationFailed.at(
                    f"/memory/{index}/key", "is named twice in this turn: write a key once"
                )
            seen.add((write.project, write.key))
        return self


def turn_of(body: TurnBody, agent: Principal, publications: Sequence[Publication]) -> Turn:
    """For the engine. Raises TurnConflict for ids of events that are none."""
    refused: Refused = []
    turn = Turn(
        ack=_orders("ack", body.ack, refused),
        release=_orders("release", body.release, refused),
        reject=_orders("reject", body.reject, refused),
        memory=[write.write(agent) for write in body.memory or ()],
        publish=publications,
    )
    if refused:
        raise TurnConflict(refused)
    return turn


def _orders(part: str, named: Sequence[Any] | None, refused: Refused) -> list[Any]:
    """For the engine; an id that does not decode is one that is not there."""
    orders = []
    for index, body in enumerate(named or ()):
        event_id = decode_id(Prefix.EVENT, body.event_id)
        if event_id is None:
            refused.append((part, index, NotFound()))
        else:
            orders.append(body.order(event_id))
    return orders


def publications_in(call: Call) -> list[Publication]:
    """What the turn publishes. Raises TurnConflict for ids that are nobody's, ValidationFailed."""
    messages = call.body.publish
    if not messages:
        return []
    try:
        return publications_of(
            AddressedMessages.model_construct(events=messages),
            house().settings,
            here=None,
            traceparent=publishers_traceparent(call.request),
        )
    except RecipientRefused as error:
        raise TurnConflict(list(_refused(messages, set(error.members["recipients"])))) from None
    except ValidationFailed as error:
        raise of_this_body(error) from None
    except PayloadTooLarge as error:
        if "pointer" in error.members:
            error.members["pointer"] = _renamed(error.members["pointer"])
        raise


def _refused(
    messages: Sequence[AddressedMessage], nobody: set[str]
) -> Iterator[tuple[str, int, RecipientRefused]]:
    """Of each message the recipients that are nobody."""
    at = 0
    for message in messages:
        wrong = nobody & {*message.recipients, message.reply_to or ""}
        behind = at + 1 + len(message.payload.more)
        if wrong:
            for index in range(at, behind):
                yield "publish", index, RecipientRefused(recipients=sorted(wrong))
        at = behind


def of_this_body(error: ValidationFailed) -> ValidationFailed:
    """The engine's pointers lead into `events`, which here is `publish`."""
    return ValidationFailed(
        errors=[
            {**fault, "pointer": _renamed(fault["pointer"])} for fault in error.members["errors"]
        ]
    )


def _renamed(pointer: str) -> str:
    return pointer.replace("/events/", "/publish/", 1)
