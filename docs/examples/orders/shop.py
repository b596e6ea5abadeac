"""A shop that shares its database with Restante: the order and the word of it are one commit."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from sqlalchemy import ForeignKey, Numeric, String, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from restante.inbox import message, producer_of, publish


class Shop(DeclarativeBase):
    """The shop's own tables; Restante has its own beside them."""


class Product(Shop):
    __tablename__ = "shop_product"
    product_id: Mapped[str] = mapped_column(String(20), primary_key=True)
    price: Mapped[Decimal] = mapped_column(Numeric(10, 2))
    stock: Mapped[int]


class Order(Shop):
    """`request`: the caller's name for this purchase, so that a repeat finds the order it made."""

    __tablename__ = "shop_order"
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    request: Mapped[str] = mapped_column(String(64), unique=True)
    customer: Mapped[str] = mapped_column(String(80))
    total: Mapped[Decimal] = mapped_column(Numeric(10, 2))
    status: Mapped[str] = mapped_column(String(10), default="pending")


class Line(Shop):
    __tablename__ = "shop_line"
    number: Mapped[int] = mapped_column(ForeignKey("shop_order.number"), primary_key=True)
    product_id: Mapped[str] = mapped_column(ForeignKey("shop_product.product_id"), primary_key=True)
    quantity: Mapped[int]
    price: Mapped[Decimal] = mapped_column(Numeric(10, 2))


class AnotherPurchase(Exception):
    """The request's name was used for other goods or another customer: nothing was ordered."""


class SoldOut(Exception):
    """There is not as much of a product: nothing was ordered."""


def place_order(
    session: Session,
    number: int,
    *,
    request: str,
    customer: str,
    wanted: Mapping[str, int],
    service: str,
    mailer: str,
) -> Order:
    """Take the order and have its acknowledgement sent; the caller commits both or neither.

    `service` publishes (`svc_…`), `mailer` is the agent that sends (`agt_…`). What is said is fixed
    here: the total agreed on, not what a catalogue says a day later.
    """
    placed = session.scalar(select(Order).where(Order.request == request))
    if placed is not None:
        lines = session.scalars(select(Line).where(Line.number == placed.number))
        ordered = {line.product_id: line.quantity for line in lines}
        if (placed.customer, ordered) != (customer, dict(wanted)):
            raise AnotherPurchase(request)
        return placed
    new_lines = []
    for product_id, quantity in sorted(wanted.items()):
        product = session.get_one(Product, product_id, with_for_update=True)
        if product.stock < quantity:
            raise SoldOut(product_id)
        product.stock -= quantity
        new_lines.append(
            Line(number=number, product_id=product_id, quantity=quantity, price=product.price)
        )
    total = sum((line.price * line.quantity for line in new_lines), Decimal(0))
    order = Order(number=number, request=request, customer=customer, total=total)
    session.add(order)
    session.flush()
    session.add_all(new_lines)
    said = message(
        [mailer],
        project="shop",
        type="order_received",
        correlation_id=f"order-{number}",
        idempotency_key=f"order-{number}-ack",
        payload={
            "work_id": f"order-{number}-ack",
            "order": number,
            "customer": customer,
            "total": str(total),
            "message": "Order received; payment still pending",
        },
    )
    publish(session, producer_of(session, service), [said])
    return order
