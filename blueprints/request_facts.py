"""What a span and a line of the log say of a request that has been answered: ids, and nothing it brought."""

from __future__ import annotations

from typing import Any

from flask import Request

from blueprints.principal import caller
from blueprints.request_ids import request_id
from restante.storage.ids import Prefix, decode_id, encode_id

PUBLISHED = "restante.published"
"""Key of a request's environ: the events that it published, as it was told of them."""
MOST_EVENTS = 20


def route_of(request: Request) -> str:
    """The rule that it met: no address, which may hold what a caller made up."""
    return "" if request.url_rule is None else request.url_rule.rule


def facts(request: Request) -> dict[str, str]:
    """Its id, and where they are known its tenant, its caller and its events."""
    told = {"request_id": request_id(request)}
    who = caller(request)
    if who is not None:
        told["tenant"] = encode_id(Prefix.TENANT, who.tenant_id)
        told[who.kind.value] = who.public_id
    published = request.environ.get(PUBLISHED, [])
    events = [event["event_id"] for event in published[:MOST_EVENTS]]
    named = (request.view_args or {}).get("event_id")
    if named is not None and decode_id(Prefix.EVENT, named) is not None:
        events = [named]
    if events:
        told["events"] = ",".join(events)
    return told


def note_published(request: Request, made: list[dict[str, Any]]) -> None:
    """Keep what a call has published for its span and its line."""
    request.environ[PUBLISHED] = made
