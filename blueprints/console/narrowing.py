"""Which quarantined events a page or a form of quarantine means: what stands in its address, read.

What it cannot make sense of narrows to nothing: a page says what is wrong, an order is not begun.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from blueprints.console.faults import Unclear, sentence
from blueprints.console.instants import NO_INSTANT, instant_in
from restante.identity.administrators import Administrator
from restante.identity.called import agent_called
from restante.identity.projects import projects_of
from restante.inbox.triage.selection import Filter
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

NOTHING = bytes(16)
HOURS = {"1": "the last hour", "24": "the last 24 hours", "168": "the last 7 days"}
REASONS = {
    "attempts_exhausted": "attempts used up",
    "rejected": "rejected",
    "release_loop": "released again and again",
}
NONE_LIKE_THAT = "there is none like that"
MOST_EVENTS = 100
_CAUSE = re.compile(r"[0-9a-f]{32}")
_TITLES = {
    "cause": "cause",
    "project": "project",
    "inbox": "inbox",
    "code": "code",
    "reason": "reason",
    "hours": "in",
    "since": "since",
    "until": "until",
}
ALL = "all"
"""Field of who means the whole quarantine: it is never what is left when nothing was said."""
COUNTED = "counted"
"""Field: up to which instant those were counted that an order is about."""
FIELDS = frozenset({*_TITLES, ALL, COUNTED, "event", "ticked"})
"""All that says which events are meant."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """`fields`: what is set, as an address and a form have it. `events`: ids, where some are picked.

    `faults`: of the fields that mean nothing, which narrow to nothing at all.
    """

    filter: Filter
    fields: Mapping[str, str]
    events: tuple[str, ...] = ()
    faults: Mapping[str, str] = field(default_factory=dict)
    counted: datetime | None = None

    @property
    def says_which(self) -> bool:
        """Some are picked, or something narrows them, or all are meant."""
        return bool(self.events) or any(name in self.fields for name in (*_TITLES, ALL))

    @property
    def chosen(self) -> Any:
        """For an order of triage: what was picked, or the filter."""
        if self.events:
            return [decode_id(Prefix.EVENT, text) for text in self.events]
        return self.filter

    def query(self, **changed: str) -> str:
        """As a query; a field changed to nothing is left out."""
        fields = {name: text for name, text in {**self.fields, **changed}.items() if text}
        pairs = [*fields.items(), *(("event", event) for event in self.events)]
        return f"?{urlencode(pairs)}" if pairs else ""

    def chips(self) -> list[tuple[str, str, str]]:
        """(what, its value, the query without it) of each field that is set."""
        return [
            (title, _shown(name, self.fields[name]), self.query(**{name: ""}))
            for name, title in _TITLES.items()
            if name in self.fields and not (name == "since" and "hours" in self.fields)
        ]

    def counted_at(self, moment: datetime) -> Narrowing:
        """The same, up to what lay there at that instant."""
        fields = {**self.fields, COUNTED: moment.isoformat()}
        if self.filter.since is not None:
            fields["since"] = self.filter.since.isoformat()
        until = min(self.filter.until or moment, moment)
        filter_ = replace(self.filter, until=until)
        return replace(self, filter=filter_, fields=fields, counted=moment)


def check_address(asked: MultiDict[str, str]) -> None:
    """Unclear where the address of an order has what is no filter, or one twice: neither is passed over."""
    faults = {
        name[:60]: "there is no such filter" for name in asked if name not in (*FIELDS, "draft")
    }
    twice = (name for name in FIELDS - {"event"} if len(asked.getlist(name)) > 1)
    _refuse({**faults, **dict.fromkeys(twice, "it is given twice")})


def narrowing(
    session: Session, administrator: Administrator, asked: MultiDict[str, str]
) -> Narrowing:
    """What is to be acted on. Raises Unclear where that cannot be told, or nothing is chosen or ticked."""
    chosen = narrowing_shown(session, administrator, asked)
    if "ticked" in asked:
        if not chosen.events:
            detail = "Nothing was done. Go back and tick the events that you mean."
            there = f"/quarantine/events{chosen.query()}"
            raise Unclear(detail, title="Nothing is ticked", there=there)
        return Narrowing(Filter(), {}, chosen.events)
    _refuse(chosen.faults)
    if chosen.events and any(name in chosen.fields for name in _TITLES):
        _refuse({"event": "single events and a filter do not go together"})
    if not chosen.says_which:
        detail = (
            "Choose a cause or tick events; for all that lies there the address ends in ?all=yes. "
            "Nothing was done."
        )
        raise Unclear(detail, title="Which events?", there="/quarantine")
    return chosen


def _refuse(faults: Mapping[str, str]) -> None:
    if faults:
        raise Unclear(f"{sentence(faults)} Nothing was done.", there="/quarantine")


def narrowing_shown(
    session: Session, administrator: Administrator, asked: MultiDict[str, str]
) -> Narrowing:
    """What an address names. What is not there, or no value, means nothing at all."""
    fields = {
        name: text
        for name in (*_TITLES, ALL, COUNTED)
        if (text := asked.get(name, "").strip()[:190])
    }
    project_id = recipient_id = None
    if "project" in fields:
        known = projects_of(session, administrator.tenant_id).get(fields["project"])
        project_id = NOTHING if known is None else known.id
    if "inbox" in fields:
        recipient_id = agent_called(session, administrator.tenant_id, fields["inbox"]) or NOTHING
    cause = fields.get("cause")
    if cause is not None and not _CAUSE.fullmatch(cause):
        cause = "none"
    instants = {
        name: instant_in(fields[name]) for name in ("since", "until", COUNTED) if name in fields
    }
    faults: dict[str, str] = {name: NO_INSTANT for name, at in instants.items() if at is None}
    if fields.get("hours", "1") not in HOURS:
        faults["hours"] = NONE_LIKE_THAT
    if fields.get("reason", "rejected") not in REASONS:
        faults["reason"] = NONE_LIKE_THAT
    if fields.get(ALL, "yes") != "yes":
        faults[ALL] = NONE_LIKE_THAT
    since, counted = instants.get("since"), instants.get(COUNTED)
    if since is None and fields.get("hours") in HOURS:
        since = database_now(session) - timedelta(hours=int(fields["hours"]))
    filter_ = Filter(
        failure_signature=cause,
        recipient_id=NOTHING if faults else recipient_id,
        project_id=project_id,
        code=fields.get("code"),
        quarantine_reason=fields.get("reason"),
        since=since,
        until=min((at for at in (instants.get("until"), counted) if at), default=None),
    )
    events = tuple(dict.fromkeys(text[:64] for text in asked.getlist("event")[:MOST_EVENTS]))
    if any(name in fields for name in _TITLES):
        fields.pop(ALL, None)
    return Narrowing(filter_, fields, events, faults, counted)


def _shown(name: str, text: str) -> str:
    if name == "hours":
        return HOURS.get(text, text)
    return REASONS.get(text, text) if name == "reason" else text
