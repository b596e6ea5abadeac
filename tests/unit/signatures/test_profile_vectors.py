"""Every vector of the profile, and every sequence of them, against the engine's verifier."""

from __future__ import annotations

from typing import Any

import pytest

from blueprints.problems import kind_of
from restante.errors import RestanteError
from restante.identity.signatures.verification import Spending, verify
from tests.vectors import rfc9421 as vectors


class Nonces:
    """A store of nonces, as the engine asks for one."""

    def __init__(self) -> None:
        self.spent: set[tuple[str, str]] = set()

    def spend(self, spending: Spending) -> bool:
        pair = (spending.key.key_id, spending.nonce)
        if pair in self.spent:
            return False
        self.spent.add(pair)
        return True


def told(vector: dict[str, Any], nonces: Nonces, now: float) -> str:
    """Valid, or the slug of the problem that the request is refused with."""
    message = vector["message"]
    try:
        key = verify(
            vectors.message_of(message, origin=vectors.origin_of(vector["id"])),
            now=now,
            find_key=vectors.profile_keys().get,
            read_content=lambda: vectors.content_of(message),
            spend_nonce=nonces.spend,
        )
    except RestanteError as error:
        return kind_of(type(error)).slug
    assert f'keyid="{key.key_id}"' in dict(message["headers"])["Signature-Input"]
    return "valid"


def expected(vector: dict[str, Any]) -> str:
    if vector["id"] == "PV-44":  # the signature holds: what it may do is not the verifier's affair
        return "valid"
    return vector.get("error", vector["expected"])


@pytest.mark.parametrize("vector_id", sorted(vectors.PROFILE.keys() - vectors.SERVER_REFUSES))
def test_a_vector_is_judged_right(vector_id: str) -> None:
    vector = vectors.PROFILE[vector_id]
    nonces = Nonces()
    answer = told(vector, nonces, vector["now"])
    assert answer == expected(vector)
    assert bool(nonces.spent) == (answer == "valid")


@pytest.mark.parametrize("sequence", vectors.DATA["profile_sequences"], ids=lambda s: s["id"])
def test_a_sequence_is_judged_right(sequence: dict[str, Any]) -> None:
    nonces = Nonces()
    answers = [told(vectors.PROFILE[s["vector"]], nonces, s["now"]) for s in sequence["steps"]]
    if sequence.get("concurrent"):
        assert sorted(answers) == ["signature-nonce-replayed", "valid"]
    else:
        assert answers == [step.get("error", step["expected"]) for step in sequence["steps"]]
