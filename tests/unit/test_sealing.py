"""Boxes open with their key, their purpose and their context, and with nothing else."""

from __future__ import annotations

import pytest

from restante.identity.sealing import SealBroken, Sealer

OLD, NEW = "o" * 40, "n" * 40


def test_a_box_opens_with_what_sealed_it() -> None:
    sealer = Sealer([NEW], "p")
    box = sealer.seal(b"content", "k1")
    assert b"content" not in box
    assert box != sealer.seal(b"content", "k1")
    assert sealer.open(box, "k1") == b"content"
    assert Sealer([NEW], "p").open(box, "k1") == b"content"


def test_the_previous_key_still_opens() -> None:
    box = Sealer([OLD], "p").seal(b"content", "k1")
    assert Sealer([NEW, OLD], "p").open(box, "k1") == b"content"
    box = Sealer([NEW, OLD], "p").seal(b"content", "k1")
    assert Sealer([NEW], "p").open(box, "k1") == b"content"


def test_nothing_else_opens_it() -> None:
    box = Sealer([NEW], "p").seal(b"content", "k1")
    for sealer, context in (
        (Sealer([OLD], "p"), "k1"),
        (Sealer([NEW], "q"), "k1"),
        (Sealer([NEW], "p"), "k2"),
    ):
        with pytest.raises(SealBroken):
            sealer.open(box, context)
    for changed in (b"", box[:10], box[:-1], b"\x02" + box[1:], box[:-1] + bytes([box[-1] ^ 1])):
        with pytest.raises(SealBroken):
            Sealer([NEW], "p").open(changed, "k1")


def test_resealing_is_for_what_an_earlier_key_sealed() -> None:
    box = Sealer([OLD], "p").seal(b"content", "k1")
    newer = Sealer([NEW, OLD], "p").resealed(box, "k1")
    assert newer is not None
    assert Sealer([NEW], "p").open(newer, "k1") == b"content"
    assert Sealer([NEW, OLD], "p").resealed(newer, "k1") is None
    with pytest.raises(SealBroken):
        Sealer([NEW], "p").resealed(box, "k1")
    with pytest.raises(SealBroken):
        Sealer([NEW, OLD], "p").resealed(box, "k2")
