"""Signed requests under attack (JO-106 to JO-116); more of each kind are in the vectors."""

from __future__ import annotations

import json
import math
import secrets
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.attacks.arena import Attacker, unknown_id
from tests.attacks.signers import SCOPES, Signing, minted, registered, signing
from tests.http.signing import COMPONENTS, b64, public_jwk
from tests.support.waiting import wait_until

COPIES = 12
CLAIM = b'{"limit": 1}'
STATS = "A/inbox/stats"


@pytest.fixture
def dora(alice: Attacker) -> Signing:
    """An agent of a tenant that wants signatures, with a minted key and one event that waits."""
    tenant = alice.arena.tenant(require_signatures=True)
    who = tenant.agent(*SCOPES)
    who.address = alice.address
    one = minted(who.signed_in(" ".join(SCOPES)))
    body = json.dumps({"project": "a", "type": "t", "payload": {}}).encode()
    answer = one.call("POST", "A/events", body)
    assert answer.status == 201, answer.body
    return one


def claimed(dora: Signing) -> str:
    (event,) = dora.call("POST", "A/inbox/claim", CLAIM).json["events"]
    return str(event["event_id"])


def status_of(dora: Signing) -> str:
    return str(dora.call("GET", "A/inbox").json["events"][0]["status"])


def test_jo_106_sent_to_another_address(dora: Signing) -> None:
    event, body = claimed(dora), b'{"claim_generation": 1}'
    release, ack = (f"A/inbox/{event}/{verb}" for verb in ("release", "ack"))
    fields = dora.fields("POST", release, body)
    for path in (
        ack,
        release.replace("release", "%72elease"),
        f"A/inbox/{unknown_id('evt')}/release",
    ):
        assert dora.send("POST", path, body, fields).problem == "401 signature-invalid"
    assert (
        dora.send("POST", f"{release}?x", body, fields).problem == "401 signature-component-missing"
    )
    assert status_of(dora) == "claimed"
    assert dora.send("POST", release, body, fields).json["status"] == "pending"


def test_jo_107_another_body(dora: Signing) -> None:
    for body in (b'{"limit": 2}', b"{}", b"", CLAIM + b" "):
        answer = dora.send(
            "POST", "A/inbox/claim", body, dora.fields("POST", "A/inbox/claim", CLAIM)
        )
        assert answer.problem == "400 digest-mismatch"
        assert b"sha-256=:" not in answer.body
        assert "Content-Digest" not in answer.headers
    # the digest is computed before any parser sees the bytes
    broken = dora.fields("POST", "A/inbox/claim", CLAIM)
    assert dora.send("POST", "A/inbox/claim", b"{", broken).problem == "400 digest-mismatch"
    assert status_of(dora) == "pending"


def test_jo_108_fields_twice(dora: Signing) -> None:
    made = dora.fields("POST", "A/inbox/claim", CLAIM)
    for name, value in (
        ("Content-Digest", made["Content-Digest"]),
        ("Content-Digest", "sha-256=:AAAA:"),
        ("Signature-Input", made["Signature-Input"]),
        ("Signature-Input", made["Signature-Input"].replace("sig1", "sig2")),
        ("Signature", made["Signature"]),
        ("Signature", "sig1=:AAAA:"),
        ("Authorization", made["Authorization"]),
    ):
        for fields in ([*made.items(), (name, value)], [(name, value), *made.items()]):
            answer = dora.send("POST", "A/inbox/claim", CLAIM, fields)
            assert answer.status in (400, 401), (name, answer.body)
    head = "".join(f"{name}: {value}\r\n" for name, value in made.items())
    path, host = dora.who.path("A/inbox/claim"), dora.signer.authority
    for hosts in ((host, "evil.example"), ("evil.example", host), (host, host)):
        lines = "".join(f"Host: {one}\r\n" for one in hosts)
        more = f"{head}Connection: close\r\nContent-Length: {len(CLAIM)}\r\n\r\n"
        text = f"POST {path} HTTP/1.1\r\n{lines}{more}"
        status, _ = dora.who.wire.raw(text.encode() + CLAIM)
        assert status == 400
    assert status_of(dora) == "pending"


def test_jo_109_a_nonce_again(dora: Signing) -> None:
    """Exactly one of many copies at once has an effect, and a new start forgets none."""
    fields = dora.fields("POST", "A/inbox/claim", CLAIM)
    with ThreadPoolExecutor(COPIES) as pool:
        calls = [
            pool.submit(dora.send, "POST", "A/inbox/claim", CLAIM, fields) for _ in range(COPIES)
        ]
        answers = [one.result() for one in calls]
    assert Counter(answer.status for answer in answers) == {200: 1, 401: COPIES - 1}
    assert sum(len(a.json["events"]) for a in answers if a.status == 200) == 1
    replayed = "401 signature-nonce-replayed"
    assert {a.problem for a in answers if a.status == 401} == {replayed}
    nonce = secrets.token_urlsafe(16)
    assert dora.call("GET", STATS, nonce=nonce).status == 200
    assert dora.call("POST", "A/inbox/claim", CLAIM, nonce=nonce).problem == replayed
    served = dora.who.arena.served
    before = set(served.worker_pids())
    for worker in before:
        served.kill_worker(worker)
    wait_until(
        lambda: not before & {*served.worker_pids()} and len(served.worker_pids()) == len(before),
        "other workers in their place",
    )
    served.wait_until_ready()
    for _ in range(6):
        assert dora.send("POST", "A/inbox/claim", CLAIM, fields).problem == replayed


def test_jo_110_expired(dora: Signing) -> None:
    now = int(time.time())
    for created, length in ((now - 61, 60), (now - 400, 300), (now - 301, 300), (now - 10_000, 60)):
        answer = dora.call("GET", STATS, created=created, length=length)
        assert answer.problem == "401 signature-expired"
    assert dora.call("GET", STATS, length=300).status == 200


def test_jo_111_a_window_too_long(dora: Signing) -> None:
    for length in (301, 3600, 10**9):
        answer = dora.call("GET", STATS, length=length)
        assert answer.problem == "401 signature-window-too-long"
    for length in (0, -5):
        assert dora.call("GET", STATS, length=length).problem == "401 signature-window-invalid"
    assert dora.call("GET", STATS, length=300).status == 200


def test_jo_112_a_component_left_out(dora: Signing) -> None:
    for missing in (*COMPONENTS, None):
        components = tuple(c for c in COMPONENTS if c != missing) if missing else ()
        for method, path, body in (("POST", "A/inbox/claim", CLAIM), ("GET", STATS, b"")):
            answer = dora.call(method, path, body, components=components)
            assert answer.problem == "401 signature-component-missing", missing
    for params in ("created", "expires", "keyid", "nonce"):
        fields = dora.fields("GET", STATS)
        name = f";{params}="
        head, _, rest = fields["Signature-Input"].partition(name)
        cut = rest.partition(";")[2]
        fields["Signature-Input"] = f"{head};{cut}" if cut else head
        answer = dora.send("GET", STATS, b"", fields)
        assert answer.problem == "401 signature-param-missing", params
    assert status_of(dora) == "pending"


def test_jo_113_a_query_that_is_not_covered(dora: Signing) -> None:
    for path in ("A/inbox/claim?force=true", "A/inbox/claim?"):
        answer = dora.call("POST", path, CLAIM, components=COMPONENTS)
        assert answer.problem == "401 signature-component-missing"
    signed = dora.fields("GET", "A/inbox?limit=1")
    assert dora.send("GET", "A/inbox?limit=2", b"", signed).problem == "401 signature-invalid"
    assert dora.send("GET", "A/inbox?limit=1", b"", signed).status == 200


def test_jo_114_the_key_of_another(dora: Signing) -> None:
    """Of another tenant or agent or of nobody: one answer. A foreign signature is good for its own only."""
    arena = dora.who.arena
    foreign = minted(arena.tenant().agent(*SCOPES).signed_in())
    beside = minted(dora.who.tenant.agent(*SCOPES).signed_in())
    answers = [
        signing(dora.who, key_id, dora.signer.key).call("GET", STATS)
        for key_id in (foreign.signer.key_id, beside.signer.key_id, unknown_id("key"), "nonsense")
    ]
    answers += [
        signing(dora.who, one.signer.key_id, one.signer.key).call("GET", STATS)
        for one in (foreign, beside)
    ]
    assert {answer.problem for answer in answers} == {"401 signature-unknown-key"}
    assert len({answer.without() for answer in answers}) == 1
    path = dora.who.path("A/inbox/stats")
    absent = f"/api/v1/agents/{unknown_id('agt')}/inbox/stats"
    there, nowhere = (foreign.call("GET", one) for one in (path, absent))
    assert there.problem == nowhere.problem == "404 not-found"


def test_jo_115_the_algorithm_does_not_fit(dora: Signing) -> None:
    for alg in ("ed25519", "none", "rsa-v1_5-sha256", "hmac-sha512", ""):
        answer = dora.call("GET", STATS, more=f';alg="{alg}"')
        assert answer.problem == "401 signature-alg-mismatch"
    assert dora.call("GET", STATS, more=';alg="hmac-sha256"').status == 200
    key = rsa.generate_private_key(65537, 2048)
    who = dora.who.tenant.agent(*SCOPES)
    mine = registered(who.signed_in(" ".join(SCOPES)), public_jwk(key), key)
    assert mine.call("GET", STATS).status == 200
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for secret in (public, public.rstrip(), json.dumps(public_jwk(key))):
        forged = signing(mine.who, mine.signer.key_id, secret)
        assert forged.call("GET", STATS).problem == "401 signature-invalid"
        named = forged.call("GET", STATS, more=';alg="hmac-sha256"')
        assert named.problem == "401 signature-alg-mismatch"
    fields = mine.fields("GET", STATS)
    fields["Signature"] = f"sig1=:{b64(key.sign(b'x', padding.PKCS1v15(), hashes.SHA256()))}:"
    assert mine.send("GET", STATS, b"", fields).problem == "401 signature-invalid"


def test_jo_116_clocks_that_differ(dora: Signing) -> None:
    """29 s ahead is taken. What is further than 30 s is told apart by whole seconds, so a little more."""
    assert dora.call("GET", STATS, created=int(time.time()) + 29).status == 200
    answer = dora.call("GET", STATS, created=math.ceil(time.time()) + 36)
    assert answer.problem == "401 signature-not-yet-valid"
    # the nonce of one that is ahead is kept: it is no good a second time
    ahead = dora.fields("GET", STATS, created=int(time.time()) + 25, length=5)
    assert dora.send("GET", STATS, b"", ahead).status == 200
    assert dora.send("GET", STATS, b"", ahead).problem == "401 signature-nonce-replayed"
