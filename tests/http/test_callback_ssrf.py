"""Every SSRF case at registration and later challenges, through the API: who is refused is never dialled."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network
from typing import Any

from sqlalchemy import delete

from restante.egress.allowance import Own
from restante.egress.policy import Policy
from restante.egress.refusal import Cause
from restante.storage.tables.callbacks import callback_challenge
from tests.http.callbacks import SECRET, Receiver, call_out_to
from tests.http.world import Caller, World
from tests.unit.egress.test_vectors import CASES, LITERALS, OTHERS, answer_of, verdicts


class Refusing(Receiver):
    """Takes no connection at the first address."""

    def __call__(self, *given: Any) -> Any:
        self.failing = None if self.addresses else Cause.CONNECT
        return super().__call__(*given)


def play(world: World, agent: Caller, case: dict[str, Any]) -> tuple[str, list[str]]:
    """The verdict on a case, and the addresses that were dialled."""
    op, answers = case.get("op", "register"), case.get("resolves_to", [["93.184.215.14"]])
    if "dns_error" not in case and "resolves_to" not in case:
        answers = [[]]
    refusing = op == "fetch-once-first-address-refuses"
    receiver = (Refusing if refusing else Receiver)()
    if any(response.get("status", 200) != 200 for response in case.get("responses", ())):
        receiver.answering = lambda _: answer_of(case)
    own = Own(networks=tuple(map(ip_network, case.get("own_addresses", ()))))
    call_out_to(
        world, receiver, answers=answers, error=case.get("dns_error"), policy=Policy(own=own)
    )
    body = {"url": case["url"], "secret": SECRET, "mode": "notify"}
    answer = agent.post("A/callbacks", body)
    callback_id = answer.json.get("callback_id")
    rounds = len(answers) - 1 if op.endswith("deliver") else 0
    while answer.status_code == 201 and rounds:
        rounds -= 1
        again = agent.post(f"A/callbacks/{callback_id}/challenge")
        answer = again if again.status_code != 200 else answer
    assert answer.status_code in (201, 422), (case["id"], answer.text)
    if answer.status_code == 422:
        slug = answer.json["type"].rpartition("/")[2]
        assert slug in ("callback-refused", "challenge-failed"), (case["id"], answer.text)
        assert not [a for one in answers for a in one if a in answer.text and a not in case["url"]]
    if callback_id is not None:
        assert agent.call("DELETE", f"A/callbacks/{callback_id}").status_code == 200
    world.house.database.run(lambda s: s.connection().execute(delete(callback_challenge)))
    return "allow" if answer.status_code == 201 else "reject", receiver.addresses


def test_every_case(world: World, hooked: Caller) -> None:
    wrong = []
    world.app.extensions["restante"] = replace(world.house)
    for case in OTHERS:
        named = [] if case["verdict"] == "reject" else ["93.184.215.14"]
        if "resolves_to" not in case and "dns_error" not in case and named:
            case = {**case, "resolves_to": [named], "may_connect": named}  # noqa: PLW2901 - the same case
        verdict, dialled = play(world, hooked, case)
        if verdict not in verdicts(case) or set(dialled) - set(case.get("may_connect", ())):
            wrong.append((case["id"], case["url"], verdict, dialled, case["reason"]))
    assert not wrong
    assert len(OTHERS) + len(LITERALS) == len(CASES) == 347


def test_public_literals_are_refused_by_their_text(world: World, hooked: Caller) -> None:
    for case in LITERALS:
        assert play(world, hooked, case) == ("reject", [])
