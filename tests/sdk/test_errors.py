"""What an error says: the members that name the cause, not the general sentence alone."""

from __future__ import annotations

import pytest

from restante_agent.errors import ApiError, Problem, RecipientRefused, StaleClaim


@pytest.mark.parametrize(
    ("kind", "members", "text"),
    [
        (
            StaleClaim,
            {"reason": "reclaimed", "current_generation": 2},
            ": reason=reclaimed current_generation=2",
        ),
        (
            StaleClaim,
            {"reason": "never_claimed", "current_generation": 0},
            ": reason=never_claimed",
        ),
        (StaleClaim, {}, "]"),
        (RecipientRefused, {"recipients": ["agt_1", "agt_2"]}, ": agt_1, agt_2"),
        (RecipientRefused, {}, "]"),
    ],
)
def test_it_names_the_cause(kind: type[ApiError], members: dict[str, object], text: str) -> None:
    said = str(kind(Problem("slug", 409, detail="No.", members=members)))
    assert said.startswith("No. [slug]")
    assert said.endswith(text)
