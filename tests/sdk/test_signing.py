"""The agent's side signs: as the vectors do, when it is asked to, anew at each try, with keys that follow."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from restante.identity.signatures.base import signature_base
from restante.identity.signatures.fields import read_signature
from restante.identity.signatures.keys import Algorithm, VerifyingKey
from restante_agent import AsyncClient, Client, Conflict, SigningKey, Unauthenticated
from restante_agent.wire.signature import Pen, signature_fields
from tests.sdk.signing_gate import AGENT, DAY, ORIGIN, Gate
from tests.vectors import rfc9421 as vectors

ORDERS = ('("@method" "@path" "@authority"', '("@method" "@path" "@query" "@authority"')


def own_key(key_id: str) -> SigningKey:
    """A key of the vectors, as a caller of the SDK gives his own."""
    private = vectors.private_key(key_id)
    if isinstance(private, ed25519.Ed25519PrivateKey):
        return SigningKey(key_id, private.sign)
    if isinstance(private, ec.EllipticCurvePrivateKey):

        def ecdsa(base: bytes) -> bytes:
            r, s = decode_dss_signature(private.sign(base, ec.ECDSA(hashes.SHA256())))
            return r.to_bytes(32) + s.to_bytes(32)

        return SigningKey(key_id, ecdsa)
    pss = padding.PSS(padding.MGF1(hashes.SHA512()), 64)
    return SigningKey(key_id, lambda base: private.sign(base, pss, hashes.SHA512()))


def valid(vector: dict[str, Any]) -> bool:
    """Whether it is one that this signer makes: its components in this order, a digest of sha-256."""
    fields = {name: value.strip() for name, value in vector["message"]["headers"]}
    listed = fields.get("Signature-Input", "").removeprefix("sig1=")
    names = listed.partition(")")[0]
    return (
        vector["expected"] == "valid"
        and names.removesuffix(' "content-digest"') in ORDERS
        and fields["Content-Digest"].startswith("sha-256=")
        and "," not in fields["Content-Digest"]
    )


VALID = [vector for vector in vectors.PROFILE.values() if valid(vector)]


def test_most_valid_vectors_are_ones_that_this_signer_makes() -> None:
    assert len(VALID) >= 16
    keys = {read_of(vector).parameters["keyid"] for vector in VALID}
    assert len(keys) == 3


def read_of(vector: dict[str, Any]) -> Any:
    message = vectors.message_of(vector["message"], origin=vectors.origin_of(vector["id"]))
    return read_signature(message.fields)


@pytest.mark.parametrize("vector", VALID, ids=lambda v: v["id"])
def test_a_vector_is_signed_as_it_was(vector: dict[str, Any]) -> None:
    offered, message = read_of(vector), vector["message"]
    fields = {name: value.strip() for name, value in message["headers"]}
    said = offered.parameters
    made = signature_fields(
        Pen(own_key(said["keyid"]), said["created"]),
        message["method"],
        message["target"],
        authority=message["authority"].lower().removesuffix(":443"),
        content=vectors.content_of(message),
        nonce=said["nonce"],
        window_seconds=said["expires"] - said["created"],
    )
    assert made["signature-input"] == fields["Signature-Input"]
    assert made["content-digest"] == fields["Content-Digest"]
    key = vectors.profile_keys()[said["keyid"]]
    if key.algorithm is Algorithm.ED25519:
        assert made["signature"] == fields["Signature"]
    read = read_signature(
        {"signature-input": [made["signature-input"]], "signature": [made["signature"]]}
    )
    base = signature_base(read, vectors.message_of(message, origin=vectors.origin_of(vector["id"])))
    assert key.verifies(read.signature, base)


class Wall:
    """The time of day of the machine that signs."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def open_client(gate: Gate, tmp_path: Path) -> Callable[..., Client]:
    """Makes clients of the gate; their state is in one folder, their clock is the gate's."""

    def make(*, client_id: str = AGENT, **options: Any) -> Client:
        given = {"state_dir": tmp_path, "wall": Wall(gate.now), "sleep": lambda _: None, **options}
        return Client(
            ORIGIN, client_id, "secret", transport=gate.transport(), random=Random(1), **given
        )

    return make


def test_it_signs_once_the_server_asks_for_it(
    gate: Gate, open_client: Callable[..., Client]
) -> None:
    client = open_client()
    for _ in range(3):
        assert client.stats().head == 7
    assert gate.seen == {"token": 2, "signature-missing": 1, "mint": 1, "taken": 3}
    # what httpx2 makes of the address and the body is what is signed
    client.receipts(correlation_id="a/b c+d%'é", limit=5)
    client.claim(limit=1)
    assert gate.seen["taken"] == 5


def test_the_async_client_does_the_same(gate: Gate, tmp_path: Path) -> None:
    async def calls() -> None:
        async with (
            AsyncClient(
                ORIGIN,
                AGENT,
                "secret",
                transport=gate.transport(),
                state_dir=tmp_path,
                wall=Wall(gate.now),
            ) as client,
            anyio.create_task_group() as group,
        ):
            for _ in range(5):
                group.start_soon(client.stats)

    anyio.run(calls)
    assert (gate.seen["mint"], gate.seen["taken"]) == (1, 5)


def test_told_to_it_signs_from_the_first(gate: Gate, open_client: Callable[..., Client]) -> None:
    open_client(sign=True).stats()
    assert gate.seen["signature-missing"] == 0


def test_told_not_to_it_never_does(gate: Gate, open_client: Callable[..., Client]) -> None:
    with pytest.raises(Unauthenticated) as refused:
        open_client(sign=False).stats()
    assert refused.value.slug == "signature-missing"
    assert gate.seen["mint"] == 0


def test_a_service_has_no_keys(gate: Gate, open_client: Callable[..., Client]) -> None:
    with pytest.raises(Unauthenticated):
        open_client(client_id="svc_" + "2" * 32, sign=True).receipts(correlation_id="x")
    assert gate.seen["mint"] == 0


def test_a_retry_is_signed_anew(gate: Gate, open_client: Callable[..., Client]) -> None:
    client = open_client(sign=True)
    gate.stumbles = 2
    assert client.stats().head == 7
    assert len(gate.signers) == len(gate.spent) == 3
    assert gate.seen["signature-nonce-replayed"] == 0


def test_a_key_is_followed_by_its_successor_while_it_is_good(
    gate: Gate, open_client: Callable[..., Client]
) -> None:
    wall = Wall(gate.now)
    client = open_client(sign=True, wall=wall)
    client.stats()
    for seconds in (DAY * 0.7, DAY * 0.1):
        gate.now += seconds
        wall.now += seconds
        client.forget_tokens()
        client.stats()
    assert gate.signers == ["key_1", "key_1", "key_2"]


def test_a_key_that_was_ended_is_replaced(gate: Gate, open_client: Callable[..., Client]) -> None:
    client = open_client(sign=True)
    client.stats()
    gate.keys.clear()
    assert client.stats().head == 7
    assert gate.signers == ["key_1", "key_2"]


@pytest.mark.parametrize("off", [-7200.0, 7200.0, DAY * 40.0])
def test_a_clock_that_is_off_is_made_good_by_the_servers(
    gate: Gate, open_client: Callable[..., Client], off: float
) -> None:
    client = open_client(wall=Wall(gate.now + off))
    client.stats()
    client.stats()
    assert (gate.seen["taken"], gate.seen["mint"]) == (2, 1)
    assert gate.seen["signature-expired"] + gate.seen["signature-not-yet-valid"] == 1


def test_processes_of_an_agent_share_a_key_in_a_file_of_its_own(
    gate: Gate, open_client: Callable[..., Client], tmp_path: Path
) -> None:
    for _ in range(6):
        open_client().stats()
    assert (gate.seen["mint"], gate.seen["signature-missing"]) == (1, 1)
    (file,) = tmp_path.rglob("signing-key.json")
    assert file.stat().st_mode & 0o777 == 0o600
    # one that others can read, or that is broken, is not used
    file.chmod(0o644)
    open_client().stats()
    file.write_text("nonsense")
    open_client().stats()
    assert gate.seen["mint"] == 3
    assert json.loads(file.read_text())["key_id"] == "key_3"


def test_where_all_keys_are_made_the_kept_one_is_taken(
    gate: Gate, open_client: Callable[..., Client], tmp_path: Path
) -> None:
    client = open_client()
    client.stats()
    late = open_client(state_dir=tmp_path / "elsewhere", sign=True)
    gate.keys.update(dict.fromkeys(("a", "b", "c"), gate.keys["key_1"]))
    with pytest.raises(Conflict) as full:
        late.stats()
    assert full.value.slug == "too-many-keys"
    assert client.stats().head == 7


def test_a_key_of_ones_own(gate: Gate, open_client: Callable[..., Client]) -> None:
    private = ed25519.Ed25519PrivateKey.generate()
    gate.keys["mine"] = VerifyingKey.of("mine", Algorithm.ED25519, private.public_key())
    client = open_client(sign=SigningKey("mine", private.sign))
    assert client.stats().head == 7
    assert (gate.signers, gate.seen["mint"]) == (["mine"], 0)
    gate.keys.clear()
    with pytest.raises(Unauthenticated) as refused:
        client.stats()
    assert refused.value.slug == "signature-unknown-key"
