"""Every SSRF case, at registration (the verdict) and at a call; the connector is told nothing refused."""

from __future__ import annotations

import json
from contextlib import suppress
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from restante.egress.allowance import Own
from restante.egress.policy import Policy
from restante.egress.refusal import CallFailed, EgressRefused, Reason
from tests.unit.egress.canned import OK, Dialled, Names, canned

FILE = Path(__file__).resolve().parents[2] / "vectors" / "ssrf.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text())["cases"]
# contract section 7 bans literals, which the cases' own policy calls the stricter product
LITERALS = [case for case in CASES if case.get("policy") == "ip-literal"]
OTHERS = [case for case in CASES if case.get("policy") != "ip-literal"]


def verdicts(case: dict[str, Any]) -> set[str]:
    """What is right."""
    return {case["verdict"], case.get("also_acceptable", case["verdict"])}


def answer_of(case: dict[str, Any]) -> bytes:
    (response,) = case.get("responses", [{}])
    fields = dict(response.get("headers", {}))
    if "location" in response:
        fields["Location"] = response["location"]
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return OK.replace(b"200 OK\r\n", f"{response.get('status', 200)} X\r\n{lines}".encode())


def play(case: dict[str, Any], *, call: bool) -> tuple[str, list[str]]:
    """The verdict on a case, and the addresses that were dialled."""
    op = case.get("op", "register")
    answers = case.get("resolves_to", [[]])
    names = Names(answers, error=case.get("dns_error"))
    dial = Dialled(answer_of(case), refusing=int(op == "fetch-once-first-address-refuses"))
    own = Own(networks=tuple(map(ip_network, case.get("own_addresses", ()))))
    egress = canned(Policy(own=own), names=names, dial=dial)
    rounds = len(answers) if op.endswith("deliver") else 1
    verdict = "allow"
    try:
        for number in range(rounds):
            first = number == 0 and not op.startswith(("challenge", "fetch"))
            if first and not (call and rounds == 1):
                egress.judge(case["url"])
            elif not egress.send("POST", case["url"], fields={}, body=b"{}").ok:
                verdict = "reject"
    except (EgressRefused, CallFailed):
        verdict = "reject"
    return verdict, dial.addresses


@pytest.mark.parametrize("call", [False, True], ids=["judged", "called"])
@pytest.mark.parametrize("case", OTHERS, ids=lambda case: case["id"])
def test_a_case(case: dict[str, Any], *, call: bool) -> None:
    verdict, dialled = play(case, call=call)
    assert verdict in verdicts(case), case["reason"]
    assert set(dialled) <= set(case.get("may_connect", ()))
    if call and verdict == "allow":
        assert dialled


@pytest.mark.parametrize("case", LITERALS, ids=lambda case: case["id"])
def test_a_public_literal_is_refused_for_being_one_and_its_address_is_not(
    case: dict[str, Any],
) -> None:
    with pytest.raises(EgressRefused) as refused:
        canned().judge(case["url"])
    assert refused.value.reason is Reason.LITERAL
    address = case["url"].removeprefix("https://").strip("[]/")
    route = canned(names=Names([[address]])).judge("https://hooks.example.com/")
    assert [str(one) for one in route.addresses] == [address]


def test_all_cases_are_there() -> None:
    assert len(CASES) == 347
    assert 0 < len(LITERALS) < 30


def test_a_tenant_could_not_tell_one_refusal_from_another() -> None:
    told = set()
    for case in CASES:
        with suppress(CallFailed):
            try:
                canned(names=Names(case.get("resolves_to", [[]]))).judge(case["url"])
            except EgressRefused as refused:
                told.add((refused.detail, str(refused), *refused.members))
    assert told == {("This URL is not allowed.", "This URL is not allowed.")}
