"""Each guard of the engine spoilt alone makes a test of this suite fail.

The tests below are run against each spoilt function until one of them fails, on SQLite: what is
spoilt is Python. A guard that no test notices is a rule without a test.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from restante.inbox import (
    ack,
    cancel,
    claim,
    commit,
    ending,
    fencing,
    lifecycle,
    ordering,
    quarantine,
    release,
    retention,
    timers,
)
from tests.engine import (
    test_ack,
    test_cancel,
    test_claim,
    test_commit,
    test_guards,
    test_ordering_key,
    test_quarantine,
    test_reject,
    test_release,
    test_renew,
    test_report,
    test_retention,
    test_settle_many,
    test_timers,
)
from tests.engine.gallery import hang
from tests.engine.mutants import in_place_of, mutants
from tests.factories import make_tenant
from tests.support.databases import TestDatabase, empty_tables

Scenario = Callable[..., Any]


def scenarios_of(*modules: Any) -> list[Scenario]:
    """The tests of these modules, each parameter set by itself, those without a gallery first."""
    found: list[Scenario] = []
    for module in modules:
        for name, test in vars(module).items():
            if name.startswith("test_") and callable(test):
                found += spread(test)
    return sorted(found, key=lambda test: "gallery" in inspect.signature(test).parameters)


def spread(test: Scenario) -> list[Scenario]:
    for mark in getattr(test, "pytestmark", []):
        names = (
            [n.strip() for n in mark.args[0].split(",")]
            if isinstance(mark.args[0], str)
            else mark.args[0]
        )
        return [
            partial(test, **dict(zip(names, values if len(names) > 1 else [values], strict=True)))
            for values in mark.args[1]
        ]
    return [test]


GUARDS: dict[Callable[..., Any], tuple[Any, ...]] = {
    lifecycle.fence: (test_ack, test_timers, test_release, test_renew),
    fencing.hold: (test_ack, test_settle_many),
    fencing.refusal: (test_ack, test_settle_many),
    fencing._absent: (test_ack,),
    fencing.archived: (test_ack,),
    ack.repeated: (test_ack,),
    release._give_back: (test_release,),
    release.reject: (test_reject,),
    ending.fail: (test_release, test_timers),
    ending.quarantine: (test_quarantine, test_ordering_key),
    ending.leave_key: (test_ordering_key, test_ack),
    ordering.leave: (test_ordering_key, test_quarantine),
    timers._run: (test_guards, test_timers),
    timers._end: (test_timers, test_release),
    cancel._cancel_scheduled: (test_cancel, test_guards),
    cancel._cancel_placed: (test_cancel, test_guards),
    cancel.check_visible: (test_cancel,),
    claim._take: (test_claim,),
    commit.commit_through: (test_commit, test_guards),
    quarantine.redrive: (test_quarantine,),
    quarantine.lock_quarantined: (test_quarantine, test_guards),
    quarantine.find_quarantined: (test_quarantine,),
    retention.raise_floor: (test_retention, test_guards),
    retention._stops: (test_retention,),
    retention.archive: (test_retention, test_guards, test_ordering_key, test_report),
}

# Spoilt, these do what they did, as far as SQLite and the clock let a test see; and why.
ALIKE: dict[tuple[str, str], str] = {
    ("fence", "without `lease.claim_expires_at is None`"): "the schema has no such row",
    ("hold", "never `attempt(session) == 0`"): "how rows are locked: tests/races",
    ("hold", "turned `attempt(session) == 0`"): "how rows are locked: tests/races",
    ("hold", "never `rows`"): "one clock or the other",
    ("hold", "never `to_ack`"): "fewer columns",
    ("fail", "never `failure is failures.LEASE_OVER`"): "figures alone",
    ("fail", "turned `failure is failures.LEASE_OVER`"): "figures alone",
    ("quarantine", "without `row.key_hash is not None`"): "leave_key asks it again",
    ("leave", "without `0`"): "False is 0",
    ("_run", "never `not candidates`"): "saves statements",
    ("_take", "never `len(taken) >= room`"): "saves statements: there is no room",
    ("_take", "turned `len(taken) >= room`"): "a second project is asked by the next call",
    ("commit_through", "never `done`"): "saves statements",
    ("commit_through", "never `names`"): "saves statements",
    ("archive", "never `not below`"): "saves statements",
    ("redrive", "without `key is not None`"): "what waits has a key",
    ("lock_quarantined", "without `row is None`"): "what is in quarantine is never deleted",
}


@pytest.fixture
def sqlite(tables_on: Callable[[str], tuple[str, Any]]) -> Any:
    return tables_on("sqlite")


@pytest.mark.parametrize(
    "function", GUARDS, ids=lambda f: f"{f.__module__.split('.')[-1]}.{f.__name__}"
)
@pytest.mark.timeout(300)
def test_a_spoilt_guard_is_noticed(function: Callable[..., Any], sqlite: Any) -> None:
    scenarios = scenarios_of(*GUARDS[function])
    survivors, noticing = [], set()
    for what, variant in mutants(function):
        if is_alike(what):
            continue
        with in_place_of(function, variant):
            noticed = next((s for s in scenarios if fails(s, sqlite)), None)
        if noticed is None:
            survivors.append(what)
        else:  # the next is likely to be noticed by the same
            noticing.add(noticed)
            scenarios.remove(noticed)
            scenarios.insert(0, noticed)
    assert not survivors
    # and they fail for nothing else
    assert not [scenario for scenario in noticing if fails(scenario, sqlite)]


def is_alike(what: str) -> bool:
    place, _, spoilt = what.partition(" ")
    return (place.partition(":")[0], spoilt) in ALIKE


def fails(scenario: Scenario, sqlite: Any) -> bool:
    """Tell whether a test fails."""
    url, engine = sqlite
    empty_tables(engine)
    database = TestDatabase("sqlite", url, engine)
    with pytest.MonkeyPatch.context() as patch:
        try:
            scenario(**dict(fixtures(scenario, database, patch)))
        except Exception:  # noqa: BLE001 - however it fails
            return True
        except pytest.fail.Exception:
            return True
    return False


def fixtures(
    scenario: Scenario, database: TestDatabase, patch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Any]]:
    """What its parameters ask for, as tests/engine/conftest.py gives it."""
    tenant = make_tenant(database)
    mail = tenant.agent()
    given = {"database": database, "tenant": tenant, "mail": mail, "monkeypatch": patch}
    bound = scenario.keywords if isinstance(scenario, partial) else {}
    for name in inspect.signature(scenario).parameters:
        if name in bound:
            continue
        if name == "gallery":
            yield name, hang(mail)
        elif name == "producer":
            yield name, tenant.agent()
        else:
            yield name, given[name]
