"""What stands around each page of one agent: who it is, what may be done to it, and its tabs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Response

from blueprints.console.shell import administrator, shell
from restante.identity.machine_list import MachineStatus
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.inbox_list import MOST, InboxLine, read_inbox
from restante.inbox.reachability import POLLS
from restante.storage.transaction import Session


@dataclass(frozen=True, slots=True)
class Tab:
    """A page of an agent, for who has the right. `path`: behind its inbox's address."""

    name: str
    title: str
    path: str
    right: Right


TABS = (
    Tab("inbox", "Inbox", "", Right.EVENTS_READ),
    Tab("in-flight", "In flight", "/in-flight", Right.EVENTS_READ),
    Tab("streams", "Streams", "/streams", Right.EVENTS_READ),
    Tab("grants", "Grants", "/grants", Right.AGENTS_READ),
    Tab("credentials", "Credentials", "/credentials", Right.AGENTS_READ),
    Tab("callbacks", "Callbacks", "/callbacks", Right.CALLBACKS_READ),
    Tab("memory", "Memory", "/memory", Right.EVENTS_READ),
    Tab("history", "History", "/history", Right.AUDIT_READ),
)


def agent_page(
    template: str,
    session: Session,
    who: SignedIn,
    line: InboxLine,
    *,
    tab: str,
    status: int = 200,
    **shown: Any,
) -> Response:
    """The answer with one of its pages."""
    role = who.operator.role
    return shell(
        template,
        session,
        who,
        here="inboxes",
        status=status,
        line=line,
        tab=tab,
        tabs=[one for one in TABS if may(role, one.right)],
        most=MOST,
        polls=POLLS,
        may_change=may(role, Right.AGENTS_WRITE) and line.agent.status is not MachineStatus.REMOVED,
        **shown,
    )


def line_of(session: Session, who: SignedIn, agent_id: str) -> InboxLine:
    """The agent with what is in its inbox. Raises NotFound."""
    return read_inbox(session, administrator(who), agent_id)
