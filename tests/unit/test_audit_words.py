"""What an entry of the audit says in words, and what it does not say twice."""

from __future__ import annotations

from datetime import datetime

import pytest

from blueprints.console.audit_words import about
from restante.audit.listing import Recorded


@pytest.mark.parametrize(
    ("action", "reason", "words"),
    [
        ("session.begin", "link", "by a sign-in link"),
        ("operator.invite", "a@example.com, tenant_admin", "tenant admin"),
        ("operator.update", "tenant_admin is now operator", "tenant admin is now operator"),
        ("agent.create", "a@example.com", None),
        ("agent.pause", "a_b", "a_b"),
        ("agent.pause", None, None),
    ],
)
def test_an_entry_in_words(action: str, reason: str | None, words: str | None) -> None:
    at = datetime(2031, 5, 1)
    entry = Recorded("aud_1", at, "operator", None, action, "opr_1", "done", reason, None, None)
    assert about(entry, {"opr_1": "a@example.com"}) == words
