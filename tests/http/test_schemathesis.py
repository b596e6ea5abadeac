"""Requests made from the document, valid and not: no 500, and no answer that is not documented."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.core import NotSet
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from app import create_app
from blueprints.openapi import document
from config import Settings
from restante.identity.scopes import TenantScope
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import create_with_tables
from tests.support.serving import SECRET_KEY

_app = create_app(Settings(database_url="sqlite:////nowhere/none.db", secret_key=SECRET_KEY))
with _app.app_context():
    DOCUMENT = document(_app)
LABELS = [
    f"{method.upper()} {path}"
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
    # a stream has no end: tests of the doorbell have it
    if not path.endswith("/subscribe")
]


class Served(NamedTuple):
    """Who is there."""

    world: World
    alice: Caller
    admin: Caller
    spare: Caller
    administered: Caller
    events: list[str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """An agent that has events in several states, in a database of this module's own.

    What is done to a tenant is done to another one, which an administrator has for himself.
    """
    url, engine = create_with_tables(
        "sqlite", "schemathesis", tmp_path_factory.mktemp("schemathesis")
    )
    with open_world(url, {}) as world:
        alice = world.agent("acme", "alice", verbs("main"))
        events = [alice.publish(alice)[0]["event_id"] for _ in range(20)]
        events.append(alice.publish(alice, delay_seconds=3600)[0]["event_id"])
        for event in alice.claim(limit=6)[:2]:
            alice.post(
                f"A/inbox/{event['event_id']}/ack", {"claim_generation": 1, "result": {"ok": True}}
            )
        world.tenant("staff", "main")
        admin = world.service("staff", "admin", list(TenantScope))
        spare = world.service("staff", "spare", [TenantScope.AUDIT_READ])
        administered = world.agent("staff", "administered", verbs("main"))
        yield Served(world, alice, admin, spare, administered, events)
    engine.dispose()


@pytest.fixture(scope="module")
def schema(served: Served) -> Any:
    """The document, read once."""
    return schemathesis.openapi.from_wsgi("/api/v1/openapi.json", served.world.app)


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("label", LABELS)
def test_every_answer_is_documented(
    served: Served, schema: Any, label: str, mode: GenerationMode
) -> None:
    method, _, path = label.partition(" ")
    operation = schema[path][method]
    chance = random.Random(label)

    @hypothesis_settings(
        max_examples=12,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        steer(case, served, chance)
        answer = case.call()
        # what the state refuses (410, 422 for another's cursor) is no fault of the data
        case.validate_response(
            answer, excluded_checks=[positive_data_acceptance, negative_data_rejection]
        )
        # to leave out a body that may be left out is no fault
        is_wrong = mode is GenerationMode.NEGATIVE and not isinstance(case.body, NotSet)
        if is_wrong and path.startswith("/api/v1"):
            assert answer.status_code not in (201, 202), answer.text

    try:
        check()
    except Unsatisfiable:
        # there is nothing to get wrong: no body, and no parameter that has a form
        assert mode is GenerationMode.NEGATIVE
        assert "requestBody" not in operation.definition.raw


def steer(case: Any, served: Served, chance: random.Random) -> None:
    """Mostly the own address and events that are there, so that more than 404 is seen; no long waits."""
    if "agent_id" in case.path_parameters and chance.random() < 0.9:
        administered = case.path.startswith("/api/v1/admin/")
        agent = served.administered if administered else served.alice
        case.path_parameters["agent_id"] = agent.id
    if "service_id" in case.path_parameters and chance.random() < 0.8:
        case.path_parameters["service_id"] = served.spare.id
    if "slug" in case.path_parameters and chance.random() < 0.8:
        case.path_parameters["slug"] = "main"
    if "event_id" in case.path_parameters and chance.random() < 0.8:
        case.path_parameters["event_id"] = chance.choice(served.events)
    case.headers = dict(case.headers or {})
    if not case.path.startswith("/oauth"):
        caller = served.admin if case.path.startswith("/api/v1/admin/") else served.alice
        case.headers["Authorization"] = f"Bearer {caller.token}"
    for said in (case.query, case.body):
        if isinstance(said, dict) and type(said.get("wait_seconds")) in (int, float, str):
            said["wait_seconds"] = 0


def test_every_refusal_of_a_stream_is_documented(served: Served) -> None:
    """A stream that opens has no end, so requests are made by hand here."""
    world, alice = served.world, served.alice
    claimer = world.agent("acme", "claimer", verbs("main", "claim"))
    stranger = Caller(world.client, alice.id, "", claimer.token)
    world.house.hub.drain()
    answers = [
        world.client.get(alice.address("A/subscribe")),
        alice.get("A/subscribe?access_token=x"),
        claimer.get("A/subscribe"),
        stranger.get("A/subscribe"),
        alice.get("A/subscribe?after_cursor=-1"),
        alice.get("A/subscribe?ticket=x"),
        world.client.get(alice.address("A/subscribe?ticket=x")),
        alice.get("A/subscribe"),
    ]
    assert [answer.status_code for answer in answers] == [401, 400, 403, 404, 422, 400, 401, 503]
    documented = DOCUMENT["paths"]["/api/v1/agents/{agent_id}/subscribe"]["get"]["responses"]
    for answer in answers:
        examples = documented[str(answer.status_code)]["content"]["application/problem+json"][
            "examples"
        ]
        assert answer.json["type"].removeprefix("/problems/") in examples
