"""What a provider says of itself (OpenID Connect Discovery 1.0, RFC 8414), as far as it is gone by. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from restante.egress.refusal import EgressRefused
from restante.egress.url import parse_url
from restante.errors import RestanteError

WELL_KNOWN = "/.well-known/openid-configuration"
BASIC, POST = "client_secret_basic", "client_secret_post"


class Cause(StrEnum):
    """Why there was nothing to go by."""

    REFUSED = "refused"  # by our own egress
    UNREACHABLE = "unreachable"
    STATUS = "status"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    ISSUER = "issuer"
    UNFIT = "unfit"
    CLIENT = "client"  # it does not take us for its client


class ProviderFailed(RestanteError):
    """The identity provider could not be asked, or its answer does not do.

    `note` is for the log of the machine and for `doctor`; who signs in is not shown it.
    """

    def __init__(self, cause: Cause, note: str) -> None:
        super().__init__()
        self.cause = cause
        self.note = note


@dataclass(frozen=True, slots=True)
class Metadata:
    """A provider that does what we need."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str | None
    end_session_endpoint: str | None
    authentication: str
    algorithms: frozenset[str] | None
    names_itself: bool
    """Whether it sends `iss` with its answer (RFC 9207)."""


def address_of(issuer: str) -> str:
    """Where it says it (Discovery, section 4: a slash at the end of the issuer is left out)."""
    return issuer.removesuffix("/") + WELL_KNOWN


def read_metadata(said: Mapping[str, Any], issuer: str) -> Metadata:
    """What it said; ProviderFailed where it is not that issuer, or lacks what a sign-in needs."""
    if said.get("issuer") != issuer:
        note = f"it calls itself {said.get('issuer')!r}, and RESTANTE_OIDC_ISSUER is {issuer!r}"
        raise ProviderFailed(Cause.ISSUER, note)
    methods = _words(said, "token_endpoint_auth_methods_supported")
    if methods and not methods & {BASIC, POST}:
        raise ProviderFailed(Cause.UNFIT, f"its token endpoint takes neither {BASIC} nor {POST}")
    challenges = _words(said, "code_challenge_methods_supported")
    if challenges and "S256" not in challenges:
        raise ProviderFailed(Cause.UNFIT, "it takes no code_challenge_method=S256")
    return Metadata(
        authorization_endpoint=_needed(said, "authorization_endpoint", issuer),
        token_endpoint=_needed(said, "token_endpoint", issuer),
        jwks_uri=_needed(said, "jwks_uri", issuer),
        userinfo_endpoint=_url(said, "userinfo_endpoint", issuer),
        end_session_endpoint=_url(said, "end_session_endpoint", issuer),
        authentication=POST if methods and BASIC not in methods else BASIC,
        algorithms=_words(said, "id_token_signing_alg_values_supported") or None,
        names_itself=said.get("authorization_response_iss_parameter_supported") is True,
    )


def _needed(said: Mapping[str, Any], member: str, issuer: str) -> str:
    url = _url(said, member, issuer)
    if url is None:
        raise ProviderFailed(Cause.UNFIT, f"it names no {member}")
    return url


def _url(said: Mapping[str, Any], member: str, issuer: str) -> str | None:
    """A URL as it was given: https, or http where the issuer itself is (on loopback only)."""
    found = said.get(member)
    if found is None:
        return None
    try:
        scheme = parse_url(found).scheme if isinstance(found, str) else ""
    except EgressRefused as error:
        raise ProviderFailed(Cause.UNFIT, f"its {member} is no URL: {error.note}") from None
    if scheme not in ("https", parse_url(issuer).scheme):
        raise ProviderFailed(Cause.UNFIT, f"its {member} is no https URL")
    return str(found)


def _words(said: Mapping[str, Any], member: str) -> frozenset[str]:
    found = said.get(member)
    return (
        frozenset(one for one in found if isinstance(one, str))
        if isinstance(found, list)
        else frozenset()
    )
