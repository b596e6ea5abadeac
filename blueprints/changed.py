"""Which topics a request may have changed, by the words of its route: for operators who watch."""

from __future__ import annotations

from functools import cache

from restante.signals.changes import Topic

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
WORDS = {
    "inbox": (Topic.EVENTS,),
    "events": (Topic.EVENTS,),
    "release": (Topic.EVENTS, Topic.QUARANTINE),
    "reject": (Topic.EVENTS, Topic.QUARANTINE),
    "turn": (Topic.EVENTS, Topic.QUARANTINE, Topic.MEMORY),
    "quarantine": (Topic.EVENTS, Topic.QUARANTINE),
    "jobs": (Topic.EVENTS, Topic.QUARANTINE),
    "agents": (Topic.AGENTS,),
    "inboxes": (Topic.AGENTS,),
    "credentials": (Topic.AGENTS,),
    "callbacks": (Topic.CALLBACKS,),
    "grants": (Topic.SCOPES, Topic.AGENTS),
    "scopes": (Topic.SCOPES, Topic.AGENTS),
    "assignments": (Topic.ASSIGNMENTS, Topic.EVENTS),
    "rooms": (Topic.ROOMS, Topic.EVENTS),
    "memory": (Topic.MEMORY, Topic.EVENTS),
}


@cache
def changed_by(method: str, rule: str) -> tuple[Topic, ...]:
    """The topics of the last word that has any; the tenant itself where none has; none of a safe method."""
    if method in SAFE:
        return ()
    for word in reversed(rule.split("/")):
        if word in WORDS:
            return WORDS[word]
    return (Topic.TENANT,)
