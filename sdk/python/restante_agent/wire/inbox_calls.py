"""Calls about an agent's own inbox: contract 5.1 to 5.3, 5.5 (commit), 5.6, 5.9."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from restante_agent.model.event import EventDetail
from restante_agent.model.inbox import Claim, Committed, Held, Page, State, Stats
from restante_agent.model.settle import ReleasedAll
from restante_agent.wire.call import Call, body, new_key, query, reader, segment, sent_at
from restante_agent.wire.core import Core
from restante_agent.wire.step import Answer, Request


def read(
    core: Core,
    after_cursor: int | None = None,
    *,
    limit: int | None = None,
    projects: Sequence[str] | None = None,
    status: str | None = None,
    wait_seconds: int | None = None,
    epoch: str | None = None,
) -> Call[Page]:
    """Events after a cursor, ascending, in any state (``status="open"``: not the final ones).

    Changes nothing. `wait_seconds` (at most 30) holds the answer until there is something.
    Raises CursorGone when the cursor or the epoch is no longer good.
    """
    request = _read_request(
        core,
        wait_seconds,
        after_cursor=after_cursor,
        limit=limit,
        projects=projects,
        status=status,
        epoch=epoch,
    )
    return Call(request, reader(Page, etag=_etag))


def read_if_changed(
    core: Core,
    etag: str,
    after_cursor: int | None = None,
    *,
    limit: int | None = None,
    projects: Sequence[str] | None = None,
    status: str | None = None,
    wait_seconds: int | None = None,
    epoch: str | None = None,
) -> Call[Page | None]:
    """As `read`, but None when the page is still the one that carried `etag`."""
    request = _read_request(
        core,
        wait_seconds,
        after_cursor=after_cursor,
        limit=limit,
        projects=projects,
        status=status,
        epoch=epoch,
    )
    page = reader(Page, etag=_etag)

    def read_page(answer: Answer) -> Page | None:
        return None if answer.status == 304 else page(answer)

    return Call(replace(request, headers={"if-none-match": etag}), read_page)


def claim(
    core: Core,
    *,
    limit: int = 10,
    lease_seconds: int | None = None,
    consumer: str | None = None,
    claim_id: str | None = None,
    projects: Sequence[str] | None = None,
    wait_seconds: int | None = None,
    after_cursor: int | None = None,
    epoch: str | None = None,
) -> Call[Claim]:
    """Take up to `limit` events under a lease.

    Every claim has a new `claim_id`, which its retries repeat; name one yourself only to ask
    again for a claim whose answer was lost. `after_cursor` and `epoch` filter nothing: they are
    checked, and raise CursorGone.
    """
    members = body(
        limit=limit,
        lease_seconds=lease_seconds,
        consumer=consumer,
        claim_id=claim_id or new_key(),
        projects=None if projects is None else list(projects),
        wait_seconds=wait_seconds,
        after_cursor=after_cursor,
        epoch=epoch,
    )
    request = Request(
        method="POST",
        path=f"{core.agent_path}/inbox/claim",
        body=members,
        hold_seconds=wait_seconds or 0.0,
    )
    # A held claim takes its events near the end of the wait, so the lease counts from the answer.
    return Call(request, reader(Claim, sent_at=_received_at if wait_seconds else sent_at))


def claims(core: Core, *, consumer: str | None = None) -> Call[Held]:
    """The live leases, with payloads; of one consumer when it is named."""
    path = f"{core.agent_path}/inbox/claims"
    return Call(
        Request(method="GET", path=path, query=query(consumer=consumer)),
        reader(Held, sent_at=sent_at),
    )


def release_all(core: Core, *, consumer: str) -> Call[ReleasedAll]:
    """Give back everything `consumer` holds; the attempts are not counted."""
    path = f"{core.agent_path}/inbox/release"
    request = Request(method="POST", path=path, body=body(consumer=consumer))
    return Call(request, reader(ReleasedAll))


def commit(core: Core, through_cursor: int, *, epoch: str | None = None) -> Call[Committed]:
    """Complete up to 1,000 pending, never claimed events at or below a cursor."""
    request = Request(
        method="POST",
        path=f"{core.agent_path}/inbox/commit",
        body=body(through_cursor=through_cursor, epoch=epoch),
    )
    return Call(request, reader(Committed))


def event(core: Core, event_id: str) -> Call[EventDetail]:
    """One event of the inbox with its result, last error and timeline."""
    path = f"{core.agent_path}/inbox/{segment(event_id, 'event_id')}"
    return Call(Request(method="GET", path=path), reader(EventDetail))


def stats(core: Core) -> Call[Stats]:
    """Counts, head, oldest cursor and epoch of the inbox."""
    return Call(Request(method="GET", path=f"{core.agent_path}/inbox/stats"), reader(Stats))


def state(
    core: Core, url: str | None = None, *, limit: int | None = None, page_token: str | None = None
) -> Call[State]:
    """A page of the baseline to go on from; `url` is the `state_url` of a CursorGone."""
    path = core.local_path(url) if url else f"{core.agent_path}/state"
    found = query(limit=limit, page_token=page_token)
    return Call(Request(method="GET", path=path, query=found), reader(State))


def subscribe(core: Core, *, after_cursor: int | None = None) -> Request:
    """The doorbell's request; the drivers open it as a stream."""
    return Request(
        method="GET",
        path=f"{core.agent_path}/subscribe",
        query=query(after_cursor=after_cursor),
        headers={"accept": "text/event-stream", "cache-control": "no-store"},
        stream=True,
    )


def _read_request(core: Core, hold_seconds: float | None, **members: object) -> Request:
    return Request(
        method="GET",
        path=f"{core.agent_path}/inbox",
        query=query(wait_seconds=hold_seconds, **members),
        hold_seconds=hold_seconds or 0.0,
    )


def _etag(answer: Answer) -> str | None:
    return answer.headers.get("etag")


def _received_at(answer: Answer) -> float:
    return answer.received_at
