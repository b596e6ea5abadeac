"""POST /oauth/token under attack (JO-052 to JO-064)."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import urlencode

import pytest
from sqlalchemy import update

from restante.identity.failed_attempts import MOST_FAILURES
from restante.storage.tables.identity import failed_attempt
from tests.attacks.arena import Attacker, Tenant, unknown_id
from tests.attacks.wire import FORM, Answer, basic, new_address

PLAIN = {"grant_type": "client_credentials"}
TOKEN = "/oauth/token"


def body(alice: Attacker, content: str, **fields: str) -> Answer:
    """POST a form as it is written."""
    given = [*alice.basic.items(), ("Content-Type", FORM), *fields.items()]
    return alice.wire.send("POST", TOKEN, given, content.encode())


def test_jo_052_a_secret_in_the_query(alice: Attacker) -> None:
    query = urlencode({"client_id": alice.id, "client_secret": alice.secret})
    answer = alice.wire.form(f"{TOKEN}?{query}", **PLAIN)
    assert answer.error == "400 invalid_request"
    for more in (
        "grant_type=client_credentials",
        "scope=agent:a:read",
        "x",
        f"client_id={alice.id}",
    ):
        assert (
            alice.wire.form(f"{TOKEN}?{more}", alice.basic, **PLAIN).error == "400 invalid_request"
        )
    assert alice.secret not in alice.arena.log.read_text()


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_jo_053_other_methods(alice: Attacker, method: str) -> None:
    target = f"{TOKEN}?grant_type=client_credentials"
    answer = alice.wire.send(method, target, alice.basic)
    assert (answer.status, answer.headers["Allow"]) == (405, "POST")


def test_jo_054_two_authentications_at_once(alice: Attacker, acme: Tenant) -> None:
    eve = acme.agent()
    for form in (
        {"client_secret": alice.secret},
        {"client_id": alice.id, "client_secret": alice.secret},
        {"client_id": eve.id, "client_secret": eve.secret},
        {"client_id": eve.id},
        {"client_assertion": "a.b.c"},
        {"client_assertion_type": "x"},
    ):
        answer = alice.wire.form(TOKEN, alice.basic, **PLAIN, **form)
        assert answer.error == "400 invalid_request", form
    for pair in ((alice, eve), (eve, alice), (alice, alice)):
        fields = [field for one in pair for field in one.basic.items()]
        assert alice.wire.form(TOKEN, fields, **PLAIN).error == "400 invalid_request"


def test_jo_055_a_wrong_secret_and_an_unknown_client(alice: Attacker) -> None:
    answers = [
        alice.wire.form(TOKEN, basic(*credentials), **PLAIN)
        for credentials in (
            (alice.id, "wrong"),
            (unknown_id("agt"), alice.secret),
            (alice.id.replace("agt_", "svc_"), alice.secret),
            ("nobody", "x"),
            (alice.id.upper(), alice.secret),
        )
    ]
    assert {answer.error for answer in answers} == {"401 invalid_client"}
    assert len({answer.body for answer in answers}) == 1
    assert all(a.headers["WWW-Authenticate"].startswith("Basic realm=") for a in answers)


def test_jo_056_guessing_secrets(alice: Attacker, acme: Tenant) -> None:
    """Slowed down for client and address, told in the audit, and nobody is shut out for good."""
    wrong, statuses = basic(alice.id, "wrong"), []
    for _ in range(30):
        answer = alice.wire.form(TOKEN, wrong, **PLAIN)
        statuses.append(answer.status)
    assert statuses == [401] * MOST_FAILURES + [429] * (30 - MOST_FAILURES)
    right = alice.ask()
    assert right.error == "429 temporarily_unavailable"
    assert 1 <= int(right.headers["Retry-After"]) <= 60
    elsewhere, other = alice.arena.wire(new_address()), acme.agent()
    assert elsewhere.form(TOKEN, alice.basic, **PLAIN).status == 429
    assert elsewhere.form(TOKEN, other.basic, **PLAIN).status == 200
    assert alice.wire.form(TOKEN, other.basic, **PLAIN).status == 429
    entries = alice.arena.audited("token.refuse", alice.id)
    assert len(entries) == MOST_FAILURES
    assert {(e.actor_kind, e.actor_id, e.address) for e in entries} == {
        ("client", alice.id, alice.address)
    }
    assert all(entry.request_id for entry in entries)
    assert "wrong" not in str(entries)
    began = failed_attempt.c.window_began_at
    moved = alice.arena.run(
        lambda s: [
            (row.subject_hash, row.window_began_at - timedelta(seconds=61))
            for row in s.connection().execute(failed_attempt.select())
        ]
    )
    for subject, instant in moved:
        mine = failed_attempt.c.subject_hash == subject
        alice.arena.change(update(failed_attempt).where(mine).values({began.name: instant}))
    assert alice.ask().status == 200


def test_jo_057_a_repeated_parameter(alice: Attacker) -> None:
    for content in (
        "grant_type=client_credentials&grant_type=refresh_token",
        "grant_type=client_credentials&grant_type=client_credentials",
        "grant_type=client_credentials&scope=agent:a:read&scope=agent:a:claim",
        "grant_type=client_credentials&x=1&x=2",
    ):
        assert body(alice, content).error == "400 invalid_request"


@pytest.mark.parametrize(
    "grant",
    ["password", "authorization_code", "implicit", "Client_Credentials", '\u00e9\n"', "x" * 99],
)
def test_jo_058_an_unsupported_grant(alice: Attacker, grant: str) -> None:
    form = {"username": "x", "password": "y", "code": "z"}
    assert alice.ask(**{**form, "grant_type": grant}).error == "400 unsupported_grant_type"
    for content in ("", "grant_type=", "scope=agent:a:read"):
        assert body(alice, content).error == "400 invalid_request"
    told = alice.wire.send("GET", "/.well-known/oauth-authorization-server").json
    assert grant not in told["grant_types_supported"]


def test_jo_059_another_body(alice: Attacker) -> None:
    for kind, content in (
        ("application/json", b'{"grant_type": "client_credentials"}'),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="grant_type"',
        ),
        ("text/plain", b"grant_type=client_credentials"),
        ("", b"grant_type=client_credentials"),
    ):
        fields = [*alice.basic.items(), ("Content-Type", kind)]
        answer = alice.wire.send("POST", TOKEN, fields, content)
        assert answer.error == "400 invalid_request", kind


def test_jo_060_a_public_client_asks_for_client_credentials(alice: Attacker) -> None:
    for named in (alice.id, "restante-agent", unknown_id("agt"), ""):
        answer = alice.wire.form(TOKEN, client_id=named, **PLAIN)
        assert answer.error == "401 invalid_client"


def test_jo_061_more_than_granted(alice: Attacker) -> None:
    for scope in (
        *("agent:a:read agent:a:admin", "agent:a:read agent:a:publish", "agent:b:read"),
        *("agent:*:read", "agent:a:*", "tenant:events:publish", "agent:a:read  agent:a:claim"),
        *("openid", "\x00", "agent:a:read,agent:a:claim", "a" * 5000),
    ):
        answer = alice.ask(scope)
        assert answer.error == "400 invalid_scope", scope
        assert "access_token" not in answer.json


def test_jo_062_a_project_of_another_tenant(alice: Attacker) -> None:
    """Granted every project of one's own tenant, one names another's."""
    alice.arena.tenant("theirs")
    greedy = alice.tenant.agent("agent:*:read")
    foreign, nobody = greedy.ask("agent:theirs:read"), greedy.ask("agent:nowhere:read")
    assert foreign.error == nobody.error == "400 invalid_scope"
    assert foreign.body == nobody.body


def test_jo_063_no_scope_asked(acme: Tenant) -> None:
    """An agent gets read and claim of what is granted, never all that it has."""
    every = [f"agent:a:{verb}" for verb in ("read", "claim", "publish", "memory", "callback")]
    answer = acme.agent(*every, "agent:b:read").ask()
    assert answer.json["scope"] == "agent:a:claim agent:a:read agent:b:read"
    assert acme.agent("agent:a:publish").ask().error == "400 invalid_scope"


def test_jo_064_headers_and_members(alice: Attacker) -> None:
    good = alice.ask()
    assert good.json.keys() == {"access_token", "token_type", "expires_in", "scope"}
    bad = [
        alice.ask("agent:b:read"),
        alice.wire.form(TOKEN, basic(alice.id, "wrong"), **PLAIN),
        alice.wire.form(TOKEN, alice.basic),
        alice.wire.form("/oauth/revoke", alice.basic),
        alice.wire.form("/oauth/introspect", token="x"),
        alice.wire.form("/oauth/device_authorization", client_id="nobody"),
    ]
    for answer in (good, *bad):
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Content-Type"].startswith("application/json")
    for answer in bad:
        assert answer.json.keys() == {"error", "error_description"}
        described = answer.json["error_description"]
        assert described.isascii()
        assert not set(described) & {'"', "\\"}
