"""What the relay says of a database that is away: a line a pass, and the whole story of a fault of ours."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from restante.errors import Overloaded
from restante.webhooks.turns import Taken
from workers.webhooks import Webhooks


class Failing:
    """A relay with nothing to deliver, whose challenges fail."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def challenge_due(self, *, most: int) -> int:
        raise self.error

    def take(self, room: Any) -> Taken:
        return Taken([], more=False)


@pytest.mark.parametrize(("error", "whole"), [(Overloaded(), False), (KeyError("x"), True)])
def test_challenges_that_cannot_be(
    caplog: pytest.LogCaptureFixture, error: Exception, *, whole: bool
) -> None:
    service = Webhooks(Failing(error))  # type: ignore[arg-type]  # it has what a pass needs
    with caplog.at_level(logging.WARNING, logger="restante.workers"):
        service.run_once()
    service.finish()
    (record,) = caplog.records
    assert record.getMessage() == f"callback_challenges_failed error={type(error).__name__}"
    assert bool(record.exc_info) is whole
