"""Nobody turns the server inward: a real one, in a network in which every address answers.

Names are asked of a name server and connections are made as ever; whatever is dialled, inside or out, is a
listener that writes it down. Linux only, and left out where a user may have no namespaces.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.acceptance.inward.network import inside
from tests.acceptance.inward.program import CERTIFICATES, MALICE, MANY, OWN, REBOUND, host_of
from tests.support.serving import ROOT
from tests.support.unavailable import Unavailable
from tests.unit.egress.canned import PUBLIC
from tests.unit.egress.test_vectors import CASES, LITERALS, verdicts

UNREACHABLE = "challenge-failed unreachable"
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What came of it all."""
    folder = tmp_path_factory.mktemp("inward")
    program = [sys.executable, "-m", "tests.acceptance.inward.program", folder]
    try:
        command = inside(program)
    except Unavailable as error:  # a container may forbid them, CI's too
        pytest.skip(f"left out: {error}")
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of(told: Any, host: str) -> list[dict[str, Any]]:
    """The connections that were made under a name."""
    return [one for one in told["dialled"] if one["name"] == host]


def test_every_case_at_registration_and_later_challenges(told: Any) -> None:
    wrong = []
    for case in CASES:
        said = told["cases"][case["id"]]
        right = {"reject"} if case in LITERALS else verdicts(case)
        if ("allow" if said == "allow" else "reject") not in right:
            wrong.append((case["id"], case["url"], said, case["reason"]))
    assert not wrong
    slugs = {said.partition(" ")[0] for said in told["cases"].values()}
    assert slugs == {"allow", "callback-refused", "challenge-failed"}


def test_nothing_was_dialled_but_what_may_be(told: Any) -> None:
    """Loopback, metadata and every private address listened all the while, on many ports."""
    allowed: dict[str, set[str]] = {}
    for case in CASES:
        if case not in LITERALS:
            reach = case.get("may_connect", [PUBLIC] if case["verdict"] == "allow" else [])
            allowed.setdefault(host_of(case), set()).update(reach)
    for kind in (*MALICE, *CERTIFICATES, *REBOUND):
        allowed[f"{kind}.example.net"] = {PUBLIC}
    allowed["crowd.example.net"] = set(MANY)
    for one in told["dialled"]:
        assert one["port"] in (443, 8443), one
        assert one["address"] in allowed.get(one["name"], ()), one
    assert {one["address"] for one in told["dialled"]} - {PUBLIC, *MANY}


def test_a_name_is_looked_up_once_for_a_call(told: Any) -> None:
    assert (told["cases"]["SSRF-151"], told["once"]) == ("allow", 1)


def test_a_name_that_leads_elsewhere_after_its_approval(told: Any) -> None:
    """Each was asked for again before the delivery; its answer was judged and nobody was dialled."""
    assert told["rebound"]["dialled"] == []
    assert told["rebound"]["lookups"].keys() == REBOUND.keys()
    assert all(told["rebound"]["lookups"].values())


def test_aliases_and_crowds_are_judged_by_where_they_lead(told: Any) -> None:
    assert told["malice"]["inward"] == UNREACHABLE
    assert told["malice"]["crowd"] == "allowed"  # by TCP: so many addresses are too long for UDP


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_certificate_that_will_not_do_is_told_nothing(told: Any, kind: str) -> None:
    assert told["malice"][kind] == UNREACHABLE
    (one,) = of(told, f"{kind}.example.net")
    assert one["requests"] == 0


@pytest.mark.parametrize(
    ("kind", "said", "cut"),
    [
        ("slow", UNREACHABLE, True),
        ("huge", "challenge-failed body", True),
        ("bomb", "challenge-failed body", False),
    ],
)
def test_answers_without_end(told: Any, kind: str, said: str, cut: bool) -> None:  # noqa: FBT001 - a column
    assert told["malice"][kind] == said
    (one,) = of(told, f"{kind}.example.net")
    assert (one["requests"], one["cut"]) == (1, cut)


def test_redirects_are_not_followed(told: Any) -> None:
    cases = [case for case in CASES if "responses" in case]
    assert len(cases) == 12
    for case in cases:
        (one,) = of(told, host_of(case))
        assert one["requests"] == 1
        said = "allow" if case["verdict"] == "allow" else "challenge-failed status"
        assert told["cases"][case["id"]] == said


def test_our_own_host_and_what_leads_to_it(told: Any) -> None:
    by_text, by_address = OWN[:4], OWN[4:]
    assert {told["own"][url] for url in by_text} == {"callback-refused"}
    assert {told["own"][url] for url in by_address} == {UNREACHABLE}
