"""The agent that sends acknowledgements: each once, however often the event comes."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import String, Text, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from restante_agent import AttemptFailed, Delivery


class Mailing(DeclarativeBase):
    """What the mail service keeps, in a database of its own."""


class Sent(Mailing):
    """A mail that was accepted. `work_id`: what it was for, whoever asked, however often."""

    __tablename__ = "mail_sent"
    work_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    body: Mapped[str] = mapped_column(Text)


class AnotherBody(Exception):
    """This work was accepted with another text: nothing is sent in its name."""


def accept(session: Session, work: dict[str, Any]) -> bool:
    """Keep the mail and its work id in one commit → whether it is new.

    The decision stands where the effect happens: a repeat is answered with what was done.
    """
    body = json.dumps(work, sort_keys=True)
    sent = session.get(Sent, work["work_id"])
    if sent is None:
        session.add(Sent(work_id=work["work_id"], body=body))
        try:
            session.commit()
        except IntegrityError:  # another worker was first
            session.rollback()
            sent = session.get_one(Sent, work["work_id"])
        else:
            return True
    if sent.body != body:
        raise AnotherBody(work["work_id"])
    return False


def handler(session_factory: Any) -> Any:
    """For `restante_agent.Agent`: what it returns is the result that the shop's receipt shows."""

    def handle(delivery: Delivery) -> dict[str, Any]:
        work = delivery.event.payload
        with session_factory() as session:
            try:
                new = accept(session, work)
            except AnotherBody as error:
                raise AttemptFailed("another_body", str(error)) from error
        return {"work_id": work["work_id"], "sent_again": not new}

    return handle


def sent_count(session: Session) -> int:
    return len(session.scalars(select(Sent)).all())
