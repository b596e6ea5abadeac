"""What is said to somebody who was not let in. Nothing of tenants, nor of what others have."""

from __future__ import annotations

from dataclasses import dataclass

from restante.identity.oidc.arrivals import Fault, TurnedAway, Why
from restante.identity.oidc.journeys import Lost
from restante.identity.oidc.people import Stranger

_ASK = "Ask whoever runs this server, or a tenant admin,"


@dataclass(frozen=True, slots=True)
class Words:
    """A page. `shows_email`: with the address that was seen, and a way to come as somebody else."""

    status: int
    title: str
    text: str
    shows_email: bool = False


_STRANGE = "You are nobody here yet"
_BEGIN = "Nobody was signed in. Begin again from here, in one browser."
_WORDS: dict[Why, Words] = {
    Lost.OVER: Words(
        400,
        "This sign-in is over",
        f"It was not begun here, took longer than ten minutes, or has come back before. {_BEGIN}",
    ),
    Lost.OTHER_BROWSER: Words(400, "This sign-in was begun in another browser", _BEGIN),
    Stranger.UNKNOWN: Words(
        403, _STRANGE, f"{_ASK} to invite exactly this address.", shows_email=True
    ),
    Stranger.TAKEN: Words(
        403,
        _STRANGE,
        "The address belongs to another account at the provider: one that had it before you, perhaps. "
        f"{_ASK} to unbind it.",
        shows_email=True,
    ),
    Stranger.NO_GROUP: Words(
        403,
        _STRANGE,
        "You are in no group that may sign in here. Ask whoever runs the groups of your provider.",
        shows_email=True,
    ),
    Stranger.UNVERIFIED: Words(
        403,
        "Your address is not verified",
        "The provider does not say that the address is yours, so it lets nobody in. "
        "Verify it there, or ask whoever runs the provider, then sign in again.",
        shows_email=True,
    ),
    Stranger.NO_EMAIL: Words(
        403,
        "The provider names no address of yours",
        f"Who may sign in here is known by an e-mail address. {_ASK} why none comes.",
        shows_email=True,
    ),
    Stranger.DISABLED: Words(
        403, "You are disabled here", f"{_ASK} who may change it.", shows_email=True
    ),
    Fault.DENIED: Words(
        403, "The provider did not let you in", "Nobody was signed in. You may try it again."
    ),
    Fault.PROVIDER: Words(
        502,
        "The provider cannot be asked just now",
        "Nobody was signed in. Try again in a moment; if it stays so, whoever runs this server finds "
        "the reason in its log, and with restante doctor.",
    ),
    Fault.TOKEN: Words(
        400,
        "The provider's answer does not hold",
        "Nobody was signed in. Begin again; if it stays so, whoever runs this server finds the reason "
        "in the audit.",
    ),
    Fault.SESSION_OVER: Words(400, "Your session is over", "Sign in again."),
    Fault.OTHER_PERSON: Words(
        403,
        "That was somebody else",
        "Whoever signed in at the provider is not the one whose session this is. Nothing was changed; "
        "the session goes on as it was.",
    ),
    Fault.NOT_ANEW: Words(
        403,
        "The provider did not ask you again",
        "What you wanted takes a fresh proof of who you are, and the provider gave none. "
        "Sign out there, then try it again.",
    ),
}


def words_of(turned: TurnedAway) -> Words:
    """Those for him."""
    return _WORDS[turned.why]
