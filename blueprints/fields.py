"""What members of bodies and queries are made of: strict, nothing clamped, nothing guessed.

`Field(ge=…)` stands before a BeforeValidator, else pydantic writes no minimum into the schema.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError, core_schema

from blueprints.raw_json import Raw
from restante.identity.names import SAYS_WHY, TIDY

BIGGEST = 2**63 - 1
LONGEST_SECONDS = 100 * 366 * 86_400
"""Longer waits than a hundred years are slips of the pen."""


class Body(BaseModel):
    """A JSON object of a request: unknown members are refused, types are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Query(BaseModel):
    """The parameters of a request, each at most once."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Answer(BaseModel):
    """What an answer looks like: it is documented and tested by this, and built without it."""

    # closed for the tests, open in the document: members may be added within v1
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra=lambda schema: schema.pop("additionalProperties", None),
    )


class NoBody(Body):
    """Nothing need be said."""


def integral(value: Any) -> Any:
    """JSON knows one kind of number: 7.0 is the integer 7."""
    return int(value) if type(value) is float and value.is_integer() else value


def widened(value: Any) -> Any:
    """And 7 is the number 7.0."""
    return float(value) if type(value) is int else value


def digits(value: Any) -> Any:
    """The integer that a parameter's text is."""
    if type(value) is str:
        if not re.fullmatch(r"-?(0|[1-9][0-9]*)", value):
            raise PydanticCustomError("int_type", "Input should be a valid integer, in digits")
        # so many digits are beyond every bound, however many follow
        return int(value[:30])
    return value


def instant(value: Any) -> Any:
    """RFC 3339, any offset → naive UTC. What is finer than a microsecond is cut off."""
    found = _RFC3339.fullmatch(value) if type(value) is str else None
    if found is None:
        raise PydanticCustomError("instant", _INSTANT)
    date, clock, second, fraction, sign, hours, minutes = found.groups(default="0")
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}:00")
        moment += timedelta(seconds=int(second), microseconds=int(fraction[:6].ljust(6, "0")))
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        moment += offset if sign == "-" else -offset
    except (ValueError, OverflowError):
        raise PydanticCustomError("instant", _INSTANT) from None
    if not _FIRST <= moment < _LAST:
        raise PydanticCustomError(
            "instant", "Input should be an instant from 1970 up to the year 9000"
        )
    return moment


_INSTANT = "Input should be an instant as in RFC 3339, for instance 2031-05-01T09:30:00Z"
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d):([0-5]\d|60)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII,
)
_FIRST, _LAST = datetime(1970, 1, 1), datetime(9000, 1, 1)


class RawObject(Raw):
    """A JSON object that is kept as the bytes that were received."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(cls._checked)

    @staticmethod
    def _checked(value: Any) -> Raw:
        if type(value) is Raw and type(value.value) is dict:
            return value
        raise PydanticCustomError("dict_type", "Input should be a JSON object")


class RawValue(Raw):
    """A JSON value of any kind that is kept as the bytes that were received; null is one."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(cls._checked)

    @staticmethod
    def _checked(value: Any) -> Raw:
        return value if type(value) is Raw else Raw(b"null", None, [])


Cursor = Annotated[int, Field(ge=0, le=BIGGEST), BeforeValidator(integral)]
Generation = Annotated[
    int,
    Field(ge=0, le=BIGGEST, description="The generation of the claim that is settled."),
    BeforeValidator(integral),
]
Limit = Annotated[
    int,
    Field(ge=1, le=1000, description="At most so many events; 4 MiB of payload end it too."),
    BeforeValidator(integral),
]
WaitSeconds = Annotated[
    int,
    Field(ge=0, le=30, description="Wait so long for something to come, in seconds."),
    BeforeValidator(integral),
]
LeaseSeconds = Annotated[
    int,
    Field(
        ge=1, le=43_200, description="Length of the lease in seconds; left out: the server's, 60."
    ),
    BeforeValidator(integral),
]
Seconds = Annotated[
    float, Field(ge=0, le=LONGEST_SECONDS, allow_inf_nan=False), BeforeValidator(widened)
]
PositiveSeconds = Annotated[
    float, Field(gt=0, le=LONGEST_SECONDS, allow_inf_nan=False), BeforeValidator(widened)
]
Instant = Annotated[
    datetime,
    BeforeValidator(instant),
    WithJsonSchema(
        {
            "type": "string",
            "format": "date-time",
            "description": "RFC 3339; any offset is read.",
            "pattern": r"^(19[7-9]\d|[2-8]\d{3})-",
        }
    ),
]
Payload = Annotated[
    RawObject,
    WithJsonSchema({"type": "object", "description": "Any JSON object; kept byte for byte."}),
]
Slug = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Epoch = Annotated[
    str, Field(max_length=64, description="The epoch of the cursor, as it was given.")
]
Tidy = Annotated[str, Field(pattern=TIDY)]
"""What names and keys are: no control characters."""

Consumer = Annotated[
    Tidy,
    Field(
        min_length=1,
        max_length=128,
        description="Which process of the agent this is.",
    ),
]
SaysWhy = Annotated[str, Field(pattern=SAYS_WHY)]
"""What reasons of verbs are: not blank, no control characters but tabs and the ends of lines."""

Reason = Annotated[SaysWhy, Field(min_length=1, max_length=2000)]
IdText = Annotated[str, Field(max_length=64)]
Key = Annotated[Tidy, Field(min_length=1, max_length=128)]

QueryCursor = Annotated[int, Field(ge=0, le=BIGGEST), BeforeValidator(digits)]
QueryLimit = Annotated[
    int,
    Field(ge=1, le=1000, description="At most so many; 4 MiB of payload end a page too."),
    BeforeValidator(digits),
]
QueryWait = Annotated[
    int,
    Field(ge=0, le=30, description="Wait so long for something to come, in seconds."),
    BeforeValidator(digits),
]
ListLimit = Annotated[
    int, Field(ge=1, le=1000, description="At most so many."), BeforeValidator(digits)
]
PageToken = Annotated[
    str, Field(max_length=2048, description="`next_page_token` of the page before, as it is.")
]


class ListQuery(Query):
    """Which part of a list."""

    limit: ListLimit = 10
    page_token: PageToken | None = None
