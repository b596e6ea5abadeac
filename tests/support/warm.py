"""What every application of a test process would make again and alike, made once.

An application of a test spends most of its time on compiling: its routes, its templates,
its statements; and on reading the system's certificates. What it does is its own; what is compiled is shared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import MethodType
from typing import Any

import pytest
from flask import Flask
from jinja2.bccache import Bucket, BytecodeCache
from sqlalchemy import Engine, event
from werkzeug.routing.rules import Rule

from restante.egress.dial import tls_context
from restante.storage.engine import make_engine
from tests.support.databases import do_not_flush


class _Templates(BytecodeCache):
    """Compiled templates, by what they are made of."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._kept.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._kept[bucket.key, bucket.checksum] = bucket.code


def share_what_is_compiled() -> None:
    """For all applications that this process makes from here on."""
    patch = pytest.MonkeyPatch()
    patch.setattr(Flask, "jinja_options", {**Flask.jinja_options, "bytecode_cache": _Templates()})
    patch.setattr(Rule, "compile", _compiled_once(Rule.compile))
    patch.setattr("extensions.make_engine", cache(_unflushed_engine))
    patch.setattr("workers.egress.tls_context", cache(tls_context))


def _unflushed_engine(url: str, *, slots: int) -> Engine:
    engine = make_engine(url, slots=slots)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", do_not_flush)
    return engine


def _compiled_once(compiles: Callable[[Rule], None]) -> Callable[[Rule], None]:
    """What routes are made of, by rule: its converters are the same in every application."""
    kept: dict[Any, dict[str, Any]] = {}

    def compiled(rule: Rule) -> None:
        key = (rule.rule, rule.subdomain, rule.host, rule.merge_slashes, str(rule.defaults))
        if key not in kept:
            compiles(rule)
            kept[key] = {name: getattr(rule, name) for name in _COMPILED}
            return
        for name, made in kept[key].items():
            # its builders are methods of the rule
            bound = made.__func__.__get__(rule) if isinstance(made, MethodType) else made
            setattr(rule, name, bound)

    return compiled


_COMPILED = ("_parts", "_trace", "_converters", "arguments", "_build", "_build_unknown")
