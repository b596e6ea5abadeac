"""Whatever is sent in the fields of a signature, it is refused by a name, or it verifies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante.identity.signatures.digests import check_digest
from restante.identity.signatures.message import Message
from restante.identity.signatures.refusals import DigestRefused, SignatureRefused
from restante.identity.signatures.verification import verify
from tests.vectors import rfc9421 as vectors

VECTOR = vectors.PROFILE["PV-10"]
FIELDS = dict(VECTOR["message"]["headers"])
KEYS = vectors.profile_keys()
# what a server lets through: no line breaks, one byte a character
TEXT = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF), max_size=60)
MARKS = ['"', ";", "=", ":", "(", ")", ",", "?1", "@1", '%"%41"', "-0.5", "\\", "*", "\xff"]
COMPONENTS = ["@method", "@target-uri", "@request-target", "@scheme", "@status", "x", "host"]
PARAMETERS = ["", ";sf", ";bs", ";zz", ";req", ";tr", ';key="a"', ';name="a"', ";key=1"]
COVERED = [f' "{name}"{parameter}' for name in COMPONENTS for parameter in PARAMETERS]
PIECE = st.sampled_from([*MARKS, *COVERED, "sig1=()", ";created=1", ';alg="none"'])


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """The text with pieces put in, left out or put in the place of others."""
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(PIECE | TEXT) + text[end:]
    return text


@given(
    signature_input=mutated(FIELDS["Signature-Input"]),
    signature=mutated(FIELDS["Signature"]),
    digest=mutated(FIELDS["Content-Digest"]),
    target=mutated("/v1/inboxes/project_A/messages?a=b"),
    host=mutated("inbox.example.com"),
)
def test_it_is_refused_by_a_name(**sent: str) -> None:
    fields: dict[str, Any] = {name.lower(): [value] for name, value in FIELDS.items()}
    fields["signature-input"] = [sent["signature_input"]]
    fields["signature"] = [sent["signature"]]
    fields["content-digest"] = [sent["digest"]]
    message = Message("POST", sent["target"], sent["host"], vectors.origin_of("PV-10"), fields)
    spent: list[str] = []
    try:
        verify(
            message,
            now=VECTOR["now"],
            find_key=KEYS.get,
            read_content=lambda: vectors.content_of(VECTOR["message"]),
            spend_nonce=lambda spending: not spent.append(spending.nonce),
        )
    except (SignatureRefused, DigestRefused):
        assert spent == []


@given(digest=mutated(FIELDS["Content-Digest"] + ", sha-512=:AAAA:"))
def test_a_digest_is_refused_by_a_name(digest: str) -> None:
    with pytest.raises(DigestRefused):
        check_digest([digest], b"of no such digest")
