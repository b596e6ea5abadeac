"""publish, receipt, turn: what goes out, alone or together with the end of a lease."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from restante_agent import jsontext
from restante_agent.errors import PASSING, IdempotencyInFlight
from restante_agent.mcp.desk import Desk, calling
from restante_agent.mcp.inbox_tools import LeaseName, Result, checked, released
from restante_agent.mcp.lease import Lease
from restante_agent.mcp.shown import answer
from restante_agent.model.event import ClaimedEvent
from restante_agent.model.memory import MemoryWrite, Turn
from restante_agent.model.publish import Publication, Published
from restante_agent.model.settle import Ack, Reject
from restante_agent.untrusted import fence
from restante_agent.wire.call import new_key

Recipients = Annotated[
    list[str] | None,
    Field(description="Agents, like agt_…; without, who sent the event that is answered."),
]


class Message(BaseModel):
    """A message to other agents."""

    model_config = ConfigDict(extra="forbid")

    payload: Annotated[dict[str, Any], Field(description="The content: any JSON object.")]
    type: Annotated[str | None, Field(max_length=128, description="Else payload.type.")] = None
    recipients: Recipients = None
    project: Annotated[str | None, Field(description="Else the project of the event.")] = None
    delay_seconds: Annotated[float | None, Field(ge=0)] = None
    priority: Annotated[int | None, Field(ge=-100, le=100)] = None


class Memory(BaseModel):
    """A write to your memory; a `value` of null takes the key away."""

    model_config = ConfigDict(extra="forbid")

    key: str
    value: Any
    project: Annotated[str | None, Field(description="Else the project of the event.")] = None
    if_version: Annotated[
        int | None, Field(ge=0, description="Only if the key is at it; 0: only if it is not there.")
    ] = None


class Given(BaseModel):
    """Given back instead of done."""

    model_config = ConfigDict(extra="forbid")

    delay_seconds: Annotated[float | None, Field(ge=0)] = None
    error: Annotated[str | None, Field(description="Then the attempt counts.")] = None


class WritingTools:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._uncertain: dict[str, str] = {}

    async def publish(
        self,
        payload: Annotated[dict[str, Any], Field(description="The content: any JSON object.")],
        type: Annotated[str | None, Field(max_length=128, description="Else payload.type.")] = None,
        recipients: Recipients = None,
        project: Annotated[str | None, Field(description="Needed without in_reply_to.")] = None,
        in_reply_to: Annotated[
            str | None, Field(description="A lease held: the message answers its event.")
        ] = None,
        delay_seconds: Annotated[float | None, Field(ge=0)] = None,
        priority: Annotated[int | None, Field(ge=-100, le=100)] = None,
    ) -> CallToolResult:
        """Send a message to agents. What has to happen together with an ack goes into turn instead."""
        answered = None if in_reply_to is None else self._desk.find(in_reply_to).event
        message = Message(
            payload=payload,
            type=type,
            recipients=recipients,
            project=project,
            delay_seconds=delay_seconds,
            priority=priority,
        )
        with calling():
            made = await self._once(addressed(message, answered))
        return answer(
            f"Sent to {len(made.events)}.",
            events=[
                {"event_id": e.event_id, "recipient_id": e.recipient_id, "status": e.status}
                for e in made.events
            ],
        )

    async def _once(self, publication: Publication) -> Published:
        """A message whose answer was lost keeps its key, so that the same call again sends it once."""
        told = hashlib.sha256(jsontext.dumps(publication.as_json())).hexdigest()
        key = self._uncertain.pop(told, None) or new_key()
        try:
            return await self._desk.client.publish(publication, idempotency_key=key)
        except (*PASSING, IdempotencyInFlight):
            self._uncertain[told] = key
            raise

    async def receipt(
        self, event_id: Annotated[str, Field(description="Of an event that you published.")]
    ) -> CallToolResult:
        """What became of an event that you published, and its result."""
        with calling():
            found = await self._desk.client.receipt(event_id)
        text = f"{found.event_id}: {found.status}."
        if found.result is not None:
            text += "\n" + fence(found.result, source=f"agent {found.recipient_id or 'unknown'}")
        return answer(text, event_id=found.event_id, status=found.status)

    async def turn(
        self,
        lease: LeaseName,
        result: Result = None,
        publish: Annotated[list[Message] | None, Field(max_length=100)] = None,
        memory: Annotated[list[Memory] | None, Field(max_length=100)] = None,
        release: Given | None = None,
        reject: Annotated[str | None, Field(description="Why it can never succeed.")] = None,
    ) -> CallToolResult:
        """End a lease, send messages and write memory: all of it, or nothing.

        Done with `result`, unless `release` or `reject` is given.
        """
        held = self._desk.find(lease)
        with calling():
            turned = await self._desk.settle(
                held, turn_of(held, checked(result), publish, memory, release, reject)
            )
        ended = "reject" if reject is not None else "release" if release is not None else "ack"
        return answer(
            f"Done together: {ended}, {len(turned.publish)} sent, {len(turned.memory)} kept. Next: claim.",
            event_id=held.event.event_id,
            published=[event.event_id for event in turned.publish],
            versions=[entry.version for entry in turned.memory],
        )

    def all(self) -> tuple[Any, ...]:
        return self.publish, self.receipt, self.turn


def turn_of(
    held: Lease,
    result: dict[str, Any] | None,
    publish: list[Message] | None,
    memory: list[Memory] | None,
    release: Given | None,
    reject: str | None,
) -> Turn:
    if sum(end is not None for end in (result, release, reject)) > 1:
        raise ToolError("A turn has one end. Next: turn with one of result, release and reject.")
    event = held.event
    given = None if release is None else released(release.delay_seconds, release.error, "failed")
    rejected = None if reject is None else Reject(reject)
    return Turn(
        ack=Ack(result) if given is None and rejected is None else None,
        release=given,
        reject=rejected,
        publish=[addressed(message, event) for message in publish or ()],
        memory=[
            MemoryWrite(write.project or event.project, write.key, write.value, write.if_version)
            for write in memory or ()
        ],
    )


def addressed(message: Message, answered: ClaimedEvent | None) -> Publication:
    """To whom it names; an answer goes to `reply_to`, or to the agent that sent the event."""
    recipients, project = message.recipients, message.project
    if answered is not None:
        project = project or answered.project
        recipients = recipients or _sender_of(answered)
    if not recipients:
        raise ToolError("Nobody to send it to. Next: the same tool with recipients, like agt_….")
    if project is None:
        raise ToolError("In which project? Next: the same tool with project, or with in_reply_to.")
    return Publication(
        payload=message.payload,
        project=project,
        recipients=recipients,
        type=message.type,
        priority=message.priority,
        delay_seconds=message.delay_seconds,
        correlation_id=None if answered is None else answered.correlation_id or answered.event_id,
        causation_id=None if answered is None else answered.event_id,
    )


def _sender_of(event: ClaimedEvent) -> list[str]:
    if event.reply_to is not None:
        return [event.reply_to]
    producer = event.producer
    return [producer.id] if producer is not None and producer.kind == "agent" else []
