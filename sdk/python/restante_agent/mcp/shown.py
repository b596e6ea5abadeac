"""What a model reads: facts of the server's own, and what others wrote between marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp.types import CallToolResult, TextContent

from restante_agent import instants
from restante_agent.mcp.lease import Lease
from restante_agent.model.event import Event
from restante_agent.model.memory import MemoryEntry
from restante_agent.untrusted import fence, render_untrusted

TENANT = "an agent or service of this tenant"


def answer(text: str, **facts: Any) -> CallToolResult:
    """`facts` hold nothing that a sender chose: a harness may show them outside any fence."""
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=facts or None
    )


def facts_of(lease: Lease) -> dict[str, Any]:
    event = lease.event
    producer = event.producer
    facts = {
        "lease": lease.name,
        "event_id": event.event_id,
        "project": event.project,
        "attempt": event.attempts,
        "max_attempts": event.max_attempts,
        "sender": producer.id if producer else None,
        "fence": event.fence,
        "expires_at": None if event.expires_at is None else instants.render(event.expires_at),
        "redriven": event.redriven,
    }
    known = {name: value for name, value in facts.items() if value is not None}
    return {**known, "cancel_requested": lease.cancel_requested}


def told(lease: Lease) -> str:
    """One claimed event: its lease, then its content."""
    event = lease.event
    lines = [f"{lease.name}: event {event.event_id} of project {event.project},"]
    lines[0] += f" attempt {event.attempts} of {event.max_attempts or 'any number'}."
    if event.attempts > 1:
        lines.append("It was tried before: look whether its effect is there already.")
    if event.fence is not None:
        lines.append(f"Fence {event.fence}: hand it to the resource that you change.")
    if lease.cancel_requested:
        lines.append("Its sender took it back: stop, and release it.")
    return "\n".join([*lines, render_untrusted(event)])


def told_all(leases: Sequence[Lease]) -> str:
    return "\n\n".join(told(lease) for lease in leases)


def waiting(events: Sequence[Event], *, has_more: bool) -> str:
    """Open mail that nobody has to be holding; claim decides who gets it."""
    if not events:
        return "No open mail."
    head = f"{len(events)} open events{', and more' if has_more else ''}. None is yours before `claim`."
    shown = [
        f"Event {event.event_id} of project {event.project}, {event.status}.\n{render_untrusted(event)}"
        for event in events
    ]
    return "\n\n".join([head, *shown])


def remembered(entries: Sequence[MemoryEntry]) -> str:
    """Keys, values and all between marks: whoever has the scope writes them."""
    rows = [
        {"project": e.project, "key": e.key, "version": e.version}
        | ({"deleted": True} if e.deleted else {"value": e.value})
        for e in entries
    ]
    return fence(rows, source=TENANT)
