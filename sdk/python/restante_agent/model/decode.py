"""From JSON objects to the frozen dataclasses of this package.

Members that a dataclass does not name are ignored, so a newer server does no harm. A member that
is missing takes the field's default; one without a default, or of another type,
 is `UnexpectedAnswer`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

from restante_agent import instants
from restante_agent.errors import UnexpectedAnswer

T = TypeVar("T")
Reader = Callable[[Any], Any]


def decode(kind: type[T], members: Any, extra: Mapping[str, Any] | None = None) -> T:
    """One dataclass from one JSON object. A field called ``raw`` receives the whole object.

    `extra` are values that come from elsewhere, not from the object.
    """
    if not isinstance(members, Mapping):
        raise UnexpectedAnswer(f"{kind.__name__}: an object was expected, not {_name(members)}")
    values: dict[str, Any] = dict(extra or {})
    target: Any = kind
    for name, (read, required) in _readers(target).items():
        if name in values:
            continue
        if name == "raw":
            values[name] = members
        elif name in members:
            try:
                values[name] = read(members[name])
            except (TypeError, ValueError) as error:
                raise UnexpectedAnswer(f"{kind.__name__}.{name}: {error}") from error
        elif required:
            raise UnexpectedAnswer(f"{kind.__name__}: the answer has no member {name!r}")
    return kind(**values)


@cache
def _readers(kind: Any) -> dict[str, tuple[Reader, bool]]:
    hints = typing.get_type_hints(kind)
    return {
        field.name: (
            _reader(hints[field.name]),
            field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING,
        )
        for field in dataclasses.fields(kind)
        if field.init
    }


def _reader(hint: Any) -> Reader:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return lambda value: value
    if origin in (types.UnionType, typing.Union):
        inner = _reader(next(a for a in arguments if a is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        item = _reader(arguments[0])
        return lambda value: tuple(item(v) for v in _expect(list, value))
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return lambda value: decode(hint, value)
    if hint is datetime:
        return lambda value: instants.parse(_expect(str, value))
    if hint is float:
        return lambda value: float(_number(value))
    if hint is int:
        return _integer
    if origin is not None and issubclass(origin, Mapping):
        return lambda value: _expect(dict, value)
    return lambda value: _expect(hint, value)


def _expect(kind: type[T], value: Any) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{kind.__name__} was expected, not {_name(value)}")
    return value


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"a number was expected, not {_name(value)}")
    return value


def _integer(value: Any) -> int:
    number = _number(value)
    if number != int(number):
        raise TypeError("an integer was expected, not a fraction")
    return int(number)


def _name(value: Any) -> str:
    return "null" if value is None else type(value).__name__
