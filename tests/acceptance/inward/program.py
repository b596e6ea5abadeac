"""Run in the network: a real server, every case through its API, and what came of it as one JSON object.

`python -m tests.acceptance.inward.program FOLDER`
"""

from __future__ import annotations

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import trustme

from tests.acceptance.inward.everywhere import Everywhere, bomb, huge, redirecting, slow
from tests.acceptance.inward.house import OUR_ADDRESS, OURS, House
from tests.acceptance.inward.names import Names
from tests.acceptance.inward.network import NAMESERVER, settle_in
from tests.support.waiting import wait_until
from tests.unit.egress.canned import PUBLIC
from tests.unit.egress.test_vectors import CASES

AT_ONCE = 18
MANY = [f"1.1.{n // 256}.{n % 256}" for n in range(60)]
MALICE = {"slow": slow, "huge": huge, "bomb": bomb}
CERTIFICATES = ("unknown-authority", "expired", "wrong-name")
OWN = (
    *(f"https://{OURS}/", f"https://{OURS.upper()}:8443/hook", f"https://{OURS}./"),
    *(f"https://{OUR_ADDRESS}/", "https://alias.example.net/", "https://chain.example.net/"),
)
REBOUND = {
    "loopback": ["127.0.0.1"],
    "loopback6": ["::1"],
    "metadata": ["169.254.169.254"],
    "private": ["10.0.0.1"],
    "mixed": [PUBLIC, "127.0.0.1"],
    "nat64": ["64:ff9b::7f00:1"],
    "mapped": ["::ffff:127.0.0.1"],
    "ours": [OUR_ADDRESS],
    "many": [*MANY, "127.0.0.1"],
}


def host_of(case: dict[str, Any]) -> str:
    """The name that a case is looked up by; those with answers of their own have names of their own."""
    host = re.sub(r"^[a-zA-Z]+:/*([^/:?#@\\]*).*", r"\1", case["url"], flags=re.DOTALL).lower()
    return f"{case['id'].lower()}.{host}" if "responses" in case else host


class Network:
    """Whom the server asks for names, whom it dials, and the server."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        self.house = House(folder, authority)  # first: no thread is there yet when it forks
        self.names = Names(NAMESERVER, default=[PUBLIC])
        self.everywhere = Everywhere(authority)

    def case(self, case: dict[str, Any]) -> str:
        """The verdict: at registration, and at challenges after it."""
        host, url = host_of(case), case["url"]
        if "responses" in case:
            (response,) = case["responses"]
            fields = dict(response.get("headers", {}))
            fields |= {"Location": response["location"]} if "location" in response else {}
            self.everywhere.answering[host] = redirecting(response["status"], fields)
            url = url.replace("redir.example.com", host)
        answers = case.get("resolves_to", [[PUBLIC]])
        if "dns_error" in case:
            self.names.fail(host, case["dns_error"])
        elif host and "hooks.example.com" not in host:
            self.names.say(host, answers)
        status, told = self.house.register(url)
        made = told
        rounds = len(answers) - 1 if case.get("op", "").endswith("deliver") else 0
        while status in (200, 201) and rounds:
            rounds -= 1
            status, told = self.house.agent(f"/{made['callback_id']}/challenge", {})
        self._remove(made)
        return "allow" if status in (200, 201) else refusal(told)

    def refused(self, url: str) -> str:
        """What is said to a registration."""
        told = self.house.register(url)[1]
        self._remove(told)
        return refusal(told)

    def _remove(self, told: dict[str, Any]) -> None:
        if "callback_id" in told:
            self.house.agent(f"/{told['callback_id']}", method="DELETE")

    def rebound(self) -> dict[str, Any]:
        """Approved under a public address; by the next delivery their names lead inward."""
        ids = {}
        for kind in REBOUND:
            status, told = self.house.register(f"https://{kind}.example.net/hook")
            assert status == 201, told
            ids[kind] = told["callback_id"]
            approved = self.house.admin(f"admin/callbacks/{ids[kind]}/approve", {"reason": "ours"})
            assert approved[0] == 200, approved
        before = len(self.everywhere.dialled)
        for kind, answers in REBOUND.items():
            self.names.say(f"{kind}.example.net", [answers])
        event = {"recipients": [self.house.agent_id], "project": "p", "type": "t", "payload": {}}
        status, told = self.house.admin("events", event)
        assert status == 201, told

        def tried(callback_id: str) -> bool:
            one = self.house.agent(f"/{callback_id}")[1]
            return bool(one["failures"] or one["delivered_at"])

        wait_until(
            lambda: all(map(tried, ids.values())), "every delivery to be tried", timeout_seconds=60
        )
        return {
            "dialled": self.everywhere.told()[before:],
            "lookups": {kind: self.names.lookups(f"{kind}.example.net") for kind in REBOUND},
        }


def refusal(told: dict[str, Any]) -> str:
    """The slug of a problem, with the reason if there is one."""
    slug = str(told.get("type", "allowed")).rpartition("/")[2]
    return f"{slug} {told['reason']}" if "reason" in told else slug


def main(folder: Path) -> dict[str, Any]:
    settle_in()
    network = Network(folder)
    for host, answering in MALICE.items():
        network.everywhere.answering[f"{host}.example.net"] = answering
    network.names.say(OURS, [[OUR_ADDRESS]])
    for name, other in (("alias", OURS), ("chain", "alias.example.net")):
        network.names.alias(f"{name}.example.net", other)
    network.names.alias("inward.example.net", "further.example.net")
    network.names.alias("further.example.net", "loopback.example.com")
    network.names.say("loopback.example.com", [["127.0.0.1"]])
    network.names.say("crowd.example.net", [MANY])
    hosts = [*MALICE, *CERTIFICATES, "inward", "crowd"]
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            own = dict(zip(OWN, pool.map(network.refused, OWN), strict=True))
            malice = pool.map(
                network.refused, [f"https://{host}.example.net/hook" for host in hosts]
            )
            cases = pool.map(network.case, CASES)
            said = {
                "own": own,
                "malice": dict(zip(hosts, malice, strict=True)),
                "cases": dict(zip([case["id"] for case in CASES], cases, strict=True)),
            }
        once = network.names.lookups("rb1.example.com")
        rebound = network.rebound()
        return {**said, "once": once, "rebound": rebound, "dialled": network.everywhere.told()}
    finally:
        network.house.close()


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
