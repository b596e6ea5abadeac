"""A callback is suspended: its row says so, and its agent has an event in its inbox, in one transaction.

Nothing is dropped: what the callback had not delivered waits to be pulled.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson
from sqlalchemy.orm import Session

from restante.identity.principal import Project
from restante.identity.scopes import Verb
from restante.inbox.arriving import arrive_later
from restante.inbox.envelope import instant
from restante.inbox.publication import Arrival
from restante.inbox.reports import BY_SERVER
from restante.inbox.rules import rules
from restante.storage.ids import new_id
from restante.webhooks.callbacks import Callback
from restante.webhooks.registration import NOT_ACTIVE
from restante.webhooks.standing import standings
from restante.webhooks.states import Status

TYPE = "callback_suspended"


def suspended(session: Session, one: Callback, reason: str, now: datetime) -> dict[str, Any]:
    """What its row is to say. Its agent is told, if it is active and may read or claim anywhere."""
    project = _told_in(session, one)
    if project is not None:
        _tell(session, one, project, reason, now)
    return {
        "status": Status.SUSPENDED.value,
        "status_reason": reason,
        "suspended_at": now,
        "changed_at": now,
        **NOT_ACTIVE,
    }


def _told_in(session: Session, one: Callback) -> Project | None:
    """The first project of the callback's that its agent reads, else the first that it reads at all."""
    standing = standings(session, [one.agent_id]).get(one.agent_id)
    if standing is None:
        return None
    verbs = (Verb.CLAIM, Verb.READ)
    readable = {p.slug: p for verb in verbs for p in standing.agent.covered(verb)}
    slugs = sorted(readable, key=lambda slug: (slug not in (one.projects or readable), slug))
    return readable[slugs[0]] if slugs else None


def _tell(session: Session, one: Callback, project: Project, reason: str, now: datetime) -> None:
    envelope = {
        "project": project.slug,
        "type": TYPE,
        "priority": 0,
        "correlation_id": None,
        "causation_id": None,
        "reply_to": None,
        "ordering_key": None,
        "producer": BY_SERVER,
        "created_at": instant(now),
        "corrects": None,
        "traceparent": None,
    }
    payload = {
        "type": TYPE,
        "callback_id": one.public_id,
        "mode": one.mode,
        "reason": reason,
        "at": instant(now),
    }
    arrival = Arrival(
        event_id=new_id(),
        recipient_id=one.agent_id,
        project_id=project.id,
        rank=0,
        max_attempts=rules(session).max_attempts,
        key_hash=None,
        available_at=now,
        expires_at=None,
        envelope=orjson.dumps(envelope),
        options=None,
        payload=orjson.dumps(payload),
    )
    arrive_later(session, arrival)
