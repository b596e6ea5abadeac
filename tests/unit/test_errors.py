"""What an error says as text, to whoever has caught it in his own program."""

from __future__ import annotations

from restante.errors import MOST_CHARACTERS, InboxFull, NotFound, RecipientRefused, ValidationFailed


def test_an_error_names_the_fields_and_recipients_that_it_is_about() -> None:
    assert str(ValidationFailed.at("/priority", "must be a number from -100 to 100")) == (
        "The request has members that are missing, unknown or out of range: "
        "/priority: must be a number from -100 to 100"
    )
    refused = RecipientRefused(recipients=["agt_1", "agt_2"])
    assert str(refused) == ("A recipient is unknown, removed or without the project: agt_1; agt_2")
    assert refused.detail == "A recipient is unknown, removed or without the project."
    assert str(InboxFull(recipients=[])) == "A recipient has too much waiting: nothing was written."
    assert str(NotFound("No tenant is called x.")) == "No tenant is called x."


def test_it_stays_short_and_says_nothing_else() -> None:
    many = RecipientRefused(recipients=[f"agt_{n}" for n in range(9)])
    assert str(many).endswith(": agt_0; agt_1; agt_2; agt_3; agt_4; and 4 more")
    long = ValidationFailed(errors=[{"pointer": "/a", "detail": "y" * 999}], payload="hush")
    assert str(long).count("y") == MOST_CHARACTERS - len("/a: ")
    assert "hush" not in str(long)
