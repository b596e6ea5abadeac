"""Entries of the audit are cleaned when they are made: no secret, nothing that cannot be kept."""

from __future__ import annotations

import pytest

from restante.audit.actions import Action, ActorKind, Outcome
from restante.audit.entries import REMOVED, Actor, Entry, Origin
from restante.storage.tables.audit import audit_entry

SECRETS = (
    ("rst_ZFq8QyH2cX1v9m3J0aVwE7", "ZFq8QyH2cX1v9m3J0aVwE7"),
    ("rstr_ZFq8QyH2cX1v9m3J0aVwE7", "ZFq8QyH2cX1v9m3J0aVwE7"),
    ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
    ("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2ln", "eyJzdWIiOiJhIn0"),
    ("-----BEGIN PRIVATE KEY-----\nMC4CAQ\n-----END PRIVATE KEY-----", "MC4CAQ"),
    ('{"kty":"OKP","d": "nWGxne_9WmC6hEr0kuwsxERJxWl7Mmk"}', "nWGxne_9WmC6hEr0kuwsxERJxWl7Mmk"),
    ("Basic YWd0Xzpyc3RfeHl6", "YWd0Xzpyc3RfeHl6"),
    ("refresh_token=abcdefgh", "abcdefgh"),
)


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_secrets_do_not_come_through(text: str, secret: str) -> None:
    by = Origin(Actor(ActorKind.CLIENT, f"x {text}"), text, text)
    entry = Entry(None, by, Action.TOKEN_REFUSE, f"x {text}", reason=f"it said {text} twice")
    for member in (by.actor.id, by.address, by.request_id, entry.target, entry.reason):
        assert member is not None
        assert REMOVED in member
        assert secret not in member


def test_a_secret_at_the_cut_goes_whole() -> None:
    text = "w" * 495 + " rst_ZFq8QyH2cX1v9m3J0aVwE7"
    entry = Entry(None, Origin(Actor(ActorKind.SERVER)), Action.TOKEN_REFUSE, reason=text)
    assert entry.reason is not None
    assert "rst_" not in entry.reason


def test_what_cannot_be_kept_is_made_so_that_it_can() -> None:
    by = Origin(Actor(ActorKind.CLIENT, " \udcff\x00ü "), "ü" * 99, "\n")
    assert (by.actor.id, by.address, by.request_id) == ("ü", "?" * 45, None)
    entry = Entry(None, by, Action.TOKEN_REFUSE, "t" * 999, reason="w " * 999)
    assert (len(entry.target or ""), len(entry.reason or "")) == (190, 499)


def test_plain_sentences_stay_as_they_are() -> None:
    text = "Token of a disabled agent; the secret was rotated (ticket #12, agent:p1:read)"
    entry = Entry(None, Origin(Actor(ActorKind.SERVER)), Action.TOKEN_REFUSE, reason=text)
    assert entry.reason == text


def test_actions_fit_their_column() -> None:
    assert all(a.isascii() and len(a) <= audit_entry.c.action.type.length for a in Action)
    assert all(len(k) <= audit_entry.c.actor_kind.type.length for k in ActorKind)
    assert all(len(o) <= audit_entry.c.outcome.type.length for o in Outcome)
