"""Signed calls of the API: what is taken, and what it leaves."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519

from restante.audit.actions import Action
from restante.audit.listing import list_entries
from restante.identity.credentials import add_client_secret
from restante.identity.signing_keys import SigningKeys
from restante.storage import incarnation
from restante.storage.clock import database_now
from restante.storage.tables.identity import credential
from restante.storage.tables.identity import tenant as tenants
from tests.http.signed_calls import AUTHORITY, CLAIM, JSON, minted, signed, told
from tests.http.signing import Signer, public_jwk
from tests.http.world import Caller, World, unknown_id, verbs


@pytest.fixture
def settings() -> dict[str, object]:
    return {"public_url": f"https://{AUTHORITY}"}


@pytest.fixture
def signer(alice: Caller) -> Signer:
    """Signs as alice, with a key that was minted for her."""
    return minted(alice)


def require(world: World, *, wanted: bool = True) -> None:
    """Acme's agents have to sign."""
    world.house.database.run(
        lambda s: s.connection().execute(tenants.update().values(require_signatures=wanted))
    )
    world.house.authority._states._values.clear()


def test_calls_with_a_body_without_one_and_with_a_query(alice: Caller, signer: Signer) -> None:
    assert signed(alice, signer, "POST", "A/inbox/claim", CLAIM).json["events"] == []
    assert signed(alice, signer, "GET", "A/inbox").status_code == 200
    assert signed(alice, signer, "GET", "A/inbox?limit=5&status=open").status_code == 200
    assert signed(alice, signer, "GET", "A/inbox?").status_code == 200
    assert signed(alice, signer, "GET", "A/inbox/evt_%2F%41").status_code == 404


def test_a_registered_key_signs(alice: Caller) -> None:
    key = ed25519.Ed25519PrivateKey.generate()
    made = alice.post("A/signing-keys", {"public_jwk": public_jwk(key)})
    mine = Signer(made.json["key_id"], key, AUTHORITY)
    assert signed(alice, mine, "POST", "A/inbox/claim", CLAIM).status_code == 200
    alice.call("DELETE", f"A/signing-keys/{mine.key_id}")


def test_whether_it_was_signed_is_told_of_an_event(alice: Caller, bob: Caller) -> None:
    mine = minted(bob)
    body = b'{"project": "main", "payload": {"type": "t"}}'
    path = f"/api/v1/agents/{alice.id}/events"
    assert signed(bob, mine, "POST", path, body).status_code == 201
    assert bob.call("POST", path, data=body, headers=JSON).status_code == 201
    events = alice.get("A/inbox").json["events"]
    assert [e["producer"]["signed"] for e in events] == [True, False]


def test_the_host_may_be_written_otherwise(alice: Caller, signer: Signer) -> None:
    for host in ("Inbox.Example.COM", f"{AUTHORITY}:443"):
        answer = signed(alice, signer, "POST", "A/inbox/claim", CLAIM, fields={"Host": host})
        assert answer.status_code == 200


def test_more_may_be_covered_and_the_order_is_free(alice: Caller, signer: Signer) -> None:
    components = (
        "content-type",
        "content-digest",
        "@path",
        "@authority",
        "authorization",
        "@method",
    )
    extra = {"content-type": "application/json", "authorization": f"Bearer {alice.token}"}
    how: dict[str, Any] = {"components": components, "extra": extra, "more": ';tag="t";x=1'}
    answer = signed(alice, signer, "POST", "A/inbox/claim", CLAIM, **how)
    assert answer.status_code == 200
    other = signed(
        alice, signer, "POST", "A/inbox/claim", CLAIM, fields={"Content-Type": "text/plain"}, **how
    )
    assert told(other) == (401, "signature-invalid")


def test_a_nonce_is_good_once_for_its_key_whatever_was_asked(
    alice: Caller, bob: Caller, signer: Signer
) -> None:
    nonce = "the-same-nonce-again"
    assert signed(alice, signer, "GET", "A/inbox/stats", nonce=nonce).status_code == 200
    again = signed(alice, signer, "POST", "A/inbox/claim", CLAIM, nonce=nonce)
    assert told(again) == (401, "signature-nonce-replayed")
    assert signed(alice, minted(alice), "GET", "A/inbox/stats", nonce=nonce).status_code == 200
    assert signed(bob, minted(bob), "GET", "A/inbox/stats", nonce=nonce).status_code == 200


def test_a_refused_signature_uses_up_no_nonce(alice: Caller, signer: Signer) -> None:
    nonce = "to-be-used-in-a-moment"
    forged = {"fields": {"Signature": "sig1=:AAAA:"}}
    refused = signed(alice, signer, "GET", "A/inbox/stats", nonce=nonce, **forged)
    assert told(refused) == (401, "signature-invalid")
    swapped = signed(
        alice, signer, "POST", "A/inbox/claim", CLAIM, nonce=nonce, sent={"data": b"{}"}
    )
    assert told(swapped) == (400, "digest-mismatch")
    assert signed(alice, signer, "GET", "A/inbox/stats", nonce=nonce).status_code == 200


def test_a_nonce_is_used_up_by_a_call_that_fails_too(alice: Caller, signer: Signer) -> None:
    nonce = "of-a-call-that-is-422"
    first = signed(alice, signer, "POST", "A/inbox/claim", b'{"limit": 0}', nonce=nonce)
    assert first.status_code == 422
    second = signed(alice, signer, "POST", "A/inbox/claim", CLAIM, nonce=nonce)
    assert told(second) == (401, "signature-nonce-replayed")


def test_keys_of_others_are_unknown_ones(
    world: World, alice: Caller, bob: Caller, ci: Caller, signer: Signer
) -> None:
    world.tenant("rival", "main")
    foreign = minted(world.agent("rival", "alice", verbs("main")))
    absent = Signer(unknown_id("key"), "x" * 43, AUTHORITY)
    no_id = Signer("nonsense", "x" * 43, AUTHORITY)
    answers = [
        signed(alice, one, "GET", "A/inbox/stats") for one in (minted(bob), foreign, absent, no_id)
    ]
    answers.append(signed(ci, signer, "GET", "/api/v1/events?correlation_id=x"))
    for answer in answers:
        assert told(answer) == (401, "signature-unknown-key")
        assert answer.json["detail"] == answers[0].json["detail"]


def test_an_ended_key_is_unknown_within_half_a_second(
    world: World, alice: Caller, signer: Signer
) -> None:
    clock = [0.0]
    world.house.signers._monotonic = lambda: clock[0]
    assert signed(alice, signer, "GET", "A/inbox/stats").status_code == 200
    signed(alice, signer, "DELETE", f"A/signing-keys/{signer.key_id}")
    clock[0] += 0.6
    gone = signed(alice, signer, "GET", "A/inbox/stats")
    assert told(gone) == (401, "signature-unknown-key")


def test_a_key_ends_with_its_credential(world: World, alice: Caller, signer: Signer) -> None:
    agent_id = bytes.fromhex(alice.id.removeprefix("agt_"))
    second = world.house.database.run(lambda s: add_client_secret(s, agent_id))
    world.house.authority._states._values.clear()
    other = world.narrowed(replace(alice, secret=second), verbs("main"))
    newer = minted(other)
    assert signed(other, signer, "GET", "A/inbox/stats").status_code == 200

    def revoke(session: Any) -> None:
        mine = credential.c.secret_hash == sha256(alice.secret.encode()).digest()
        session.connection().execute(
            credential.update().where(mine).values(revoked_at=database_now(session))
        )

    world.house.database.run(revoke)
    world.house.signers._held._values.clear()
    assert told(signed(other, signer, "GET", "A/inbox/stats")) == (401, "signature-unknown-key")
    assert signed(other, newer, "GET", "A/inbox/stats").status_code == 200
    assert [k["key_id"] for k in other.get("A/signing-keys").json["keys"]] == [newer.key_id]


def test_a_key_that_no_secret_key_opens_is_unknown(
    world: World, alice: Caller, signer: Signer
) -> None:
    world.house.signers._keys = SigningKeys(["another secret key than that of before"])
    answer = signed(alice, signer, "GET", "A/inbox/stats")
    assert told(answer) == (401, "signature-unknown-key")


def test_what_a_tenant_that_wants_signatures_refuses(
    world: World, alice: Caller, ci: Caller, signer: Signer
) -> None:
    require(world)
    for method, path in (("POST", "A/inbox/claim"), ("DELETE", f"A/signing-keys/{signer.key_id}")):
        answer = alice.call(method, path, data=CLAIM, headers=JSON)
        assert told(answer) == (401, "signature-missing")
        assert "content-digest" in answer.headers["Accept-Signature"]
    absent = f"/api/v1/agents/{unknown_id('agt')}/inbox/claim"
    assert told(alice.post(absent, {})) == (401, "signature-missing")
    # reading needs none, a service needs none, and the first key could not be made otherwise
    assert alice.get("A/inbox").status_code == 200
    sent = {"recipients": [alice.id], "project": "main", "payload": {"type": "t"}}
    assert ci.post("events", sent).status_code == 201
    assert alice.post("A/signing-keys", {}).status_code == 201
    assert len(signed(alice, signer, "POST", "A/inbox/claim", CLAIM).json["events"]) == 1


def test_a_signature_is_verified_where_none_is_wanted(alice: Caller, signer: Signer) -> None:
    forged = {"fields": {"Signature": "sig1=:AAAA:"}}
    answer = signed(alice, signer, "POST", "A/signing-keys", b"{}", **forged)
    assert told(answer) == (401, "signature-invalid")
    stream = signed(alice, signer, "GET", "A/subscribe", **forged)
    assert told(stream) == (401, "signature-invalid")
    assert signed(alice, signer, "HEAD", "A/subscribe").status_code == 200


def test_a_refusal_is_one_entry_of_the_audit(world: World, alice: Caller, signer: Signer) -> None:
    signed(alice, signer, "GET", "A/inbox/stats", fields={"Signature": "sig1=:AAAA:"})
    page = world.house.database.run(
        lambda s: list_entries(s, world.tenants["acme"], limit=10, action=Action.SIGNATURE_REFUSE)
    )
    (entry,) = page.entries
    assert (entry.actor_id, entry.outcome, entry.reason) == (
        alice.id,
        "refused",
        "SignatureInvalid",
    )


def test_signed_calls_cost_one_look_and_one_nonce(
    alice: Caller, signer: Signer, counted: Callable[[], Any], world: World
) -> None:
    stopped = time.monotonic()
    for one in (world.house.authority, world.house.signers):
        one._monotonic = lambda: stopped
    with counted() as first:
        assert signed(alice, signer, "GET", "A/inbox/stats").status_code == 200
    assert sum("FROM signing_key" in statement for statement in first) == 1
    with counted() as plain:
        assert alice.get("A/inbox/stats").status_code == 200
    with counted() as own:
        assert signed(alice, signer, "GET", "A/inbox/stats").status_code == 200
    assert plain
    assert len(own) == len(plain) + 1
    assert sum("signature_nonce" in statement for statement in own) == 1


def test_after_a_restored_backup_what_was_signed_before_is_used_up(
    world: World, alice: Caller, signer: Signer
) -> None:
    """The nonces of the lost time are not known: any of them may have been used."""
    earlier = int(time.time()) - 10
    assert signed(alice, signer, "GET", "A/inbox/stats", created=earlier).status_code == 200
    world.house.database.run(incarnation.begin)
    world.house.signers._held._values.clear()
    before = signed(alice, signer, "GET", "A/inbox/stats", created=earlier)
    assert told(before) == (401, "signature-nonce-replayed")
    after = signed(alice, signer, "GET", "A/inbox/stats", created=int(time.time()) + 2)
    assert after.status_code == 200
