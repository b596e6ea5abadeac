"""How long a failed event waits before it is tried again, as its producer says it."""

from __future__ import annotations

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from blueprints.fields import Body, Seconds


class Backoff(Body):
    """Waits between failed attempts double from the one to the other."""

    base_seconds: Seconds
    max_seconds: Seconds

    @model_validator(mode="after")
    def _ordered(self) -> Backoff:
        if self.max_seconds < self.base_seconds:
            raise PydanticCustomError("backoff", "max_seconds must not be less than base_seconds")
        return self
