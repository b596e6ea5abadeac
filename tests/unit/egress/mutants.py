"""The egress's rules, each left out alone: a refusal that is not raised, one way to be refused, a range."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from restante.egress import names, policy, ranges, url, verdict

MODULES: tuple[ModuleType, ...] = (url, names, verdict, policy)
TABLES = ("SPECIAL_V4", "SPECIAL_V6", "METADATA")


class Mutant:
    """A function of a module with one rule left out. `name` says which, as the source has it."""

    def __init__(self, module: ModuleType, owner: str | None, tree: ast.FunctionDef, name: str):
        self.name = f"{module.__name__.rpartition('.')[2]}.{tree.name}: {name}"
        self._module = module
        self._owner = owner
        self._tree = tree

    @contextmanager
    def alive(self) -> Iterator[None]:
        """In place of the function, wherever it has been imported."""
        made: dict[str, Any] = {}
        body = ast.fix_missing_locations(ast.Module([self._tree], []))
        exec(compile(body, "mutant", "exec"), self._module.__dict__, made)  # noqa: S102 - our own source
        name, function = self._tree.name, made[self._tree.name]
        if self._owner is not None:
            places = [getattr(self._module, self._owner)]
        else:
            real = getattr(self._module, name)
            places = [
                module
                for path, module in sys.modules.items()
                if path.startswith("restante.egress") and getattr(module, name, None) is real
            ]
        before = getattr(places[0], name)
        for place in places:
            setattr(place, name, function)
        try:
            yield
        finally:
            for place in places:
                setattr(place, name, before)


def mutants() -> Iterator[Mutant]:
    """Every raise of EgressRefused left out, and every operand of an `or` or `and` in these modules."""
    for module in MODULES:
        for owner, function in _functions(ast.parse(inspect.getsource(module))):
            text = ast.unparse(function)
            for index, node in enumerate(ast.walk(function)):
                if isinstance(node, ast.Raise) and "EgressRefused" in ast.unparse(node):
                    copy = _anew(text)
                    _replace(copy, index, ast.Pass())
                    yield Mutant(module, owner, copy, ast.unparse(node)[:60])
                elif isinstance(node, ast.BoolOp):
                    for place in range(len(node.values)):
                        copy = _anew(text)
                        within = list(ast.walk(copy))[index]
                        assert isinstance(within, ast.BoolOp)
                        left_out = ast.unparse(within.values[place])
                        # what decides nothing: an `or` without it, an `and` without it
                        within.values[place] = ast.Constant(isinstance(within.op, ast.And))
                        yield Mutant(module, owner, copy, f"without {left_out}"[:60])


@contextmanager
def without_range(table: str, place: int) -> Iterator[None]:
    """A table of addresses without one of its rows."""
    real = getattr(ranges, table)
    setattr(ranges, table, real[:place] + real[place + 1 :])
    try:
        yield
    finally:
        setattr(ranges, table, real)


def _functions(tree: ast.Module) -> Iterator[tuple[str | None, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield None, node
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and not inner.decorator_list:
                    yield node.name, inner


def _anew(text: str) -> ast.FunctionDef:
    """The function anew, whose nodes stand in the same order."""
    (copy,) = ast.parse(text).body
    assert isinstance(copy, ast.FunctionDef)
    return copy


def _replace(tree: ast.FunctionDef, index: int, by: ast.stmt) -> None:
    wanted = list(ast.walk(tree))[index]
    for parent in ast.walk(tree):
        for _, block in ast.iter_fields(parent):
            if isinstance(block, list) and wanted in block:
                block[block.index(wanted)] = by
                return
