"""docs/examples/orders, run: the shop in this process, the mailer as an agent of a real server.

And the doorbell for who publishes without one: its process has no hub and knows no other.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, func, select
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session, sessionmaker

from restante.errors import IdempotencyKeyReused
from restante.identity.projects import create_project
from restante.inbox import message, producer_of, publish
from restante_agent import Agent, Client
from tests.acceptance.conftest import SetUp
from tests.acceptance.stage import Stage
from tests.docs.pages import ROOT
from tests.support.serving import Served

EXAMPLE = ROOT / "docs" / "examples" / "orders"


def load(name: str) -> ModuleType:
    """A module of the example, which is no package."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


shop, mailer = load("shop"), load("mailer")


@dataclass
class Scene:
    """The shop's engine and the mail service's, and who is who."""

    stage: Stage
    engine: Engine
    mails: Engine
    folder: Path

    def order(self, session: Session, number: int = 103, **members: Any) -> Any:
        said = {
            "request": f"purchase-{number}",
            "customer": "Mina",
            "wanted": {"mug": 1, "tea": 2},
            "service": self.stage.producer["client_id"],
            "mailer": self.stage.agent["agent_id"],
        }
        return shop.place_order(session, number, **(said | members))

    def work(self, handle: Any = None) -> None:
        """Have the agent work off what there is."""
        who = self.stage.agent
        with Client(self.stage.served.url, who["client_id"], who["client_secret"]) as client:
            handle = handle or mailer.handler(sessionmaker(self.mails))
            Agent(client, handle, state_dir=self.folder).run(until_empty=True)

    def sent(self) -> int:
        with Session(self.mails) as session:
            return int(mailer.sent_count(session))

    def count(self, table: Any) -> int:
        with Session(self.engine) as session:
            return int(session.scalar(select(func.count()).select_from(table)) or 0)


@pytest.fixture
def scene(stage: SetUp, backend: str, tmp_path: Path) -> Iterator[Scene]:
    made = stage()
    served: Served = made.served
    made.database.run(lambda s: create_project(s, made._tenant.id, "shop"))
    url = make_url(served.database_url)
    if backend != "sqlite":
        url = url.set(drivername="mysql+pymysql")
    engine, mails = create_engine(url), create_engine(f"sqlite:///{tmp_path}/mails.db")
    shop.Shop.metadata.create_all(engine)
    mailer.Mailing.metadata.create_all(mails)
    with Session(engine) as session, session.begin():
        session.add(shop.Product(product_id="mug", price=Decimal("20.00"), stock=1))
        session.add(shop.Product(product_id="tea", price=Decimal("4.50"), stock=7))
    yield Scene(made, engine, mails, tmp_path / "state")
    shop.Shop.metadata.drop_all(engine)
    engine.dispose()
    mails.dispose()


def test_the_order_and_its_acknowledgement_are_one(scene: Scene) -> None:
    bell = scene.stage.listen()
    bell.wait_for("ready")
    with Session(scene.engine) as session:
        scene.order(session)
        session.rollback()
    assert scene.count(shop.Order) == 0
    with Session(scene.engine) as session, session.begin():
        order = scene.order(session)
        assert order.total == Decimal("29.00")
    # this process has no hub: the server's tailer finds the commit, and only that one
    assert bell.wait_for("inbox_updated").data == {"cursor_hint": 1}
    # the same purchase again, as after a lost answer, is the same order and no second word of it
    with Session(scene.engine) as session, session.begin():
        assert scene.order(session).number == 103
        for other in ({"wanted": {"tea": 1}}, {"customer": "Nina"}):
            with pytest.raises(shop.AnotherPurchase):
                scene.order(session, **other)
    scene.work()
    assert (scene.sent(), scene.count(shop.Order), scene.count(shop.Line)) == (1, 1, 2)
    with Session(scene.engine) as session, session.begin(), pytest.raises(shop.SoldOut):
        scene.order(session, 104)
    scene.work()
    assert scene.sent() == 1


def test_sent_and_then_lost_is_sent_once(scene: Scene) -> None:
    """The mailer stops between the acceptance and the ack; the repeat finds what was done."""
    with Session(scene.engine) as session, session.begin():
        scene.order(session)
    (event,) = scene.stage.claim(lease_seconds=1)
    with Session(scene.mails) as session:
        assert mailer.accept(session, event["payload"])
    results: list[dict[str, Any]] = []
    handle = mailer.handler(sessionmaker(scene.mails))

    def watched(delivery: Any) -> dict[str, Any]:
        results.append(handle(delivery))
        return results[-1]

    who = scene.stage.agent
    with Client(scene.stage.served.url, who["client_id"], who["client_secret"]) as client:
        client.release(event["event_id"], event["claim_generation"])
    scene.work(watched)
    assert results == [{"work_id": "order-103-ack", "sent_again": True}]
    assert scene.sent() == 1
    with Session(scene.mails) as session, pytest.raises(mailer.AnotherBody):
        mailer.accept(session, event["payload"] | {"total": "31.00"})


def test_a_changed_intention_under_the_old_name_is_refused(scene: Scene) -> None:
    with Session(scene.engine) as session, session.begin():
        scene.order(session)
    changed = message(
        [scene.stage.agent["agent_id"]],
        project="shop",
        type="order_received",
        correlation_id="order-103",
        idempotency_key="order-103-ack",
        payload={"work_id": "order-103-ack", "total": "31.00"},
    )
    with Session(scene.engine) as session, pytest.raises(IdempotencyKeyReused):
        publish(session, producer_of(session, scene.stage.producer["client_id"]), [changed])
    scene.work()
    assert scene.sent() == 1
