"""Variants of a function, each with one of its conditions spoilt: what a test must notice."""

from __future__ import annotations

import ast
import copy
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

BOUNDARY = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
OPPOSITE = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def mutants(
    function: Callable[..., Any], *, boundaries: bool = False
) -> Iterator[tuple[str, Callable[..., Any]]]:
    """(what was spoilt, the function so spoilt), one condition at a time.

    An `if` that never holds, an operand of `and` or `or` that is left out, a comparison that is
    turned round or (for tables that know the microsecond) off by its boundary.
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    for number, node in enumerate(ast.walk(tree)):
        for label, change in _changes(node, boundaries=boundaries):
            spoilt = copy.deepcopy(tree)
            target = next(n for i, n in enumerate(ast.walk(spoilt)) if i == number)
            what = f"{function.__name__}:{getattr(node, 'lineno', 0)} {label}"
            change(target)
            yield what, _compile(function, spoilt)


def _changes(node: ast.AST, *, boundaries: bool) -> Iterator[tuple[str, Callable[[Any], None]]]:
    if isinstance(node, (ast.If, ast.IfExp)):
        yield f"never `{ast.unparse(node.test)}`", _never
    if isinstance(node, ast.BoolOp):
        for i, value in enumerate(node.values):
            yield f"without `{ast.unparse(value)}`", lambda n, i=i: _leave_out(n, i)
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPPOSITE:
        yield f"turned `{ast.unparse(node)}`", lambda n: _turn(n, OPPOSITE)
        if boundaries and type(node.ops[0]) in BOUNDARY:
            yield f"just off `{ast.unparse(node)}`", lambda n: _turn(n, BOUNDARY)


def _never(node: Any) -> None:
    node.test = ast.copy_location(ast.Constant(value=False), node.test)


def _leave_out(node: Any, operand: int) -> None:
    node.values[operand] = ast.Constant(value=isinstance(node.op, ast.And))


def _turn(node: Any, into: dict[type[ast.cmpop], type[ast.cmpop]]) -> None:
    node.ops[0] = into[type(node.ops[0])]()


def _compile(function: Callable[..., Any], tree: ast.Module) -> Callable[..., Any]:
    names = vars(sys.modules[function.__module__])
    code = compile(ast.fix_missing_locations(tree), f"<spoilt {function.__name__}>", "exec")
    real = names[function.__name__]
    exec(code, names)  # noqa: S102 - it is our own function
    made: Callable[..., Any] = names[function.__name__]
    names[function.__name__] = real
    return made


@contextmanager
def in_place_of(function: Callable[..., Any], variant: Callable[..., Any]) -> Iterator[None]:
    """Have every module that knows the function by its name call the variant."""
    name = function.__name__
    rooms = [
        module
        for path, module in list(sys.modules.items())
        if path.startswith(("restante.", "tests.")) and vars(module).get(name) is function
    ]
    for room in rooms:
        setattr(room, name, variant)
    try:
        yield
    finally:
        for room in rooms:
            setattr(room, name, function)
