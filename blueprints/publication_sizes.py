"""How much one publish may bring (contract section 3, limits)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from blueprints.raw_json import Raw
from restante.errors import PayloadTooLarge, ValidationFailed

MOST_EVENTS = 1000
MOST_BYTES = 32 * 1024 * 1024


def check_size(
    payloads: Sequence[Sequence[Raw]], named: Sequence[Sequence[str]], most: int, *, many: bool
) -> None:
    """Raises PayloadTooLarge and ValidationFailed. `payloads`: those that go to each of `named`."""
    for index, payload in enumerate(chain.from_iterable(payloads)):
        if len(payload.text) > most:
            raise PayloadTooLarge(
                f"A payload may have {most} bytes.",
                pointer=f"/events/{index}/payload" if many else "/payload",
                limit_bytes=most,
            )
    count = sum(len(names) * len(alike) for names, alike in zip(named, payloads, strict=True))
    if count > MOST_EVENTS:
        raise ValidationFailed.at(
            "",
            f"makes {count} events, and a call may make {MOST_EVENTS}: spread them over several calls",
        )
    if (
        sum(
            len(names) * sum(len(raw.text) for raw in alike)
            for names, alike in zip(named, payloads, strict=True)
        )
        > MOST_BYTES
    ):
        raise PayloadTooLarge(
            f"Payloads times recipients of a call may have {MOST_BYTES} bytes.",
            limit_bytes=MOST_BYTES,
        )
