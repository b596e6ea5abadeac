"""wait, claim, held, renew, ack, release, reject: the lease and its ends."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult
from pydantic import Field

from restante_agent import jsontext
from restante_agent.errors import CursorGone
from restante_agent.mcp.desk import Desk, calling
from restante_agent.mcp.shown import answer, facts_of, told_all
from restante_agent.model.settle import Ack, FailureOutcome, Reject, Release
from restante_agent.runtime.outcome import RESULT_LIMIT_BYTES, failed

LeaseName = Annotated[
    str, Field(description="A lease as `claim` named it, like lease_0123456789ab.")
]
Result = Annotated[
    dict[str, Any] | None,
    Field(description="A JSON object of at most 8 KiB; the sender sees it in its receipt."),
]
HOLD_SECONDS = 30


class InboxTools:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def wait(
        self,
        seconds: Annotated[int, Field(ge=1, le=55, description="How long at most.")] = 25,
    ) -> CallToolResult:
        """Wait until there is something to claim. Takes nothing; call claim then."""
        desk = self._desk
        projects = desk.rules.projects
        clock = desk.clock
        until = clock.monotonic() + seconds
        with calling():
            cursor = (await desk.client.stats()).head
            while True:
                left = max(0, min(HOLD_SECONDS, round(until - clock.monotonic())))
                try:
                    page = await desk.client.read(
                        cursor, limit=1, status="open", wait_seconds=left, projects=projects
                    )
                except CursorGone as gone:
                    cursor = gone.head
                    continue
                if page.claimable or not left:
                    break
                cursor = page.next_cursor
        if page.claimable:
            return answer(f"{page.claimable} to claim. Next: claim.", claimable=page.claimable)
        return answer("Nothing to claim yet. Next: wait again, or end your turn.", claimable=0)

    async def claim(
        self, limit: Annotated[int, Field(ge=1, le=10, description="At most so many events.")] = 1
    ) -> CallToolResult:
        """Take events under leases. Each comes with the name of its lease, for renew and for its one end."""
        with calling():
            begun, claim = await self._desk.claim(limit)
        facts = {"leases": [facts_of(lease) for lease in begun], "claimable": claim.claimable}
        if begun:
            then = "Next: do the work, then end each lease once: ack, release, reject or turn."
            return answer(f"{told_all(begun)}\n\n{then}", **facts)
        why = {
            "paused": "An operator has paused this agent. Next: stop, and tell your user.",
            "in_flight": "This agent holds as much as it may, elsewhere too. Next: held, and settle.",
        }
        return answer(why.get(claim.reason or "", "Nothing to claim. Next: wait."), **facts)

    async def held(self) -> CallToolResult:
        """The leases that are yours now, with their events; for when you have lost track."""
        leases = self._desk.held
        return answer(
            told_all(leases) or "No lease is held. Next: wait, or claim.",
            leases=[facts_of(lease) for lease in leases],
        )

    async def renew(
        self,
        lease: LeaseName,
        progress: Annotated[
            dict[str, Any] | None,
            Field(description="How far you are: a JSON object, 4 KiB at most."),
        ] = None,
    ) -> CallToolResult:
        """Say that you still work on it. Leases are renewed for you, but not for ever without a word."""
        held = self._desk.find(lease)
        with calling():
            renewed = await self._desk.renew(held, progress)
        if renewed.cancel_requested:
            text = "Its sender took it back. Next: stop, and release it; ack only if it is done already."
        elif renewed.deadline_passed:
            text = "Still yours, but its time is over: finish now if it is still of use."
        else:
            text = "Still yours."
        return answer(text, **facts_of(held))

    async def ack(self, lease: LeaseName, result: Result = None) -> CallToolResult:
        """The work is done: end the lease, the event is completed and never comes again."""
        held = self._desk.find(lease)
        with calling():
            acked = await self._desk.settle(held, Ack(checked(result)))
        return answer("Completed. Next: claim.", event_id=held.event.event_id, status=acked.status)

    async def release(
        self,
        lease: LeaseName,
        delay_seconds: Annotated[
            float | None, Field(ge=0, description="Not again before so many seconds are over.")
        ] = None,
        error: Annotated[
            str | None,
            Field(description="What failed. Then the attempt counts; too many end in quarantine."),
        ] = None,
        outcome: Annotated[
            Literal["none", "unknown", "failed"],
            Field(
                description="What a failed attempt left in the world: nothing, nobody knows, a failure."
            ),
        ] = "failed",
    ) -> CallToolResult:
        """Give the event back, to be worked again. Without `error` the attempt is not counted."""
        held = self._desk.find(lease)
        verb = released(delay_seconds, error, outcome)
        with calling():
            done = await self._desk.settle(held, verb)
        return answer(
            f"Given back, now {done.status}. Next: claim.",
            event_id=held.event.event_id,
            status=done.status,
        )

    async def reject(
        self,
        lease: LeaseName,
        reason: Annotated[
            str, Field(min_length=1, max_length=1000, description="For the operator.")
        ],
    ) -> CallToolResult:
        """The event can never succeed: into quarantine now, where an operator looks at it."""
        held = self._desk.find(lease)
        with calling():
            done = await self._desk.settle(held, Reject(reason))
        return answer(
            "In quarantine. Next: claim.", event_id=held.event.event_id, status=done.status
        )

    def all(self) -> tuple[Any, ...]:
        return self.wait, self.claim, self.held, self.renew, self.ack, self.release, self.reject


def released(delay_seconds: float | None, error: str | None, outcome: str) -> Release:
    failure = None if error is None else failed("model", error, FailureOutcome(outcome))
    return Release(delay_seconds, failure)


def checked(result: dict[str, Any] | None) -> dict[str, Any] | None:
    """Refused here, since what is acked is first noted as done."""
    if result is not None and len(jsontext.dumps(result)) > RESULT_LIMIT_BYTES:
        raise ToolError("The result is over 8 KiB. Next: ack with less in it, or with a link.")
    return result
