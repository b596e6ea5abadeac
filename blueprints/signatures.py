"""Signed requests at the edge: what was sent, taken as it came, and checked once it is known who calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import quote

from flask import Request

from blueprints.origins import origin_of
from extensions import house
from restante.audit.actions import Action
from restante.errors import RestanteError
from restante.identity.nonces import spend
from restante.identity.principal import Principal
from restante.identity.request_refusals import RefusedCall
from restante.identity.signatures.message import Message
from restante.identity.signatures.refusals import (
    DigestRefused,
    SignatureMissing,
    SignatureRefused,
)
from restante.identity.signatures.verification import verify
from restante.storage.combine import Kind

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_FIELDS = ("HTTP_SIGNATURE", "HTTP_SIGNATURE_INPUT")
Environ = Mapping[str, Any]


def is_signed(environ: Environ) -> bool:
    """Whether the request brings any part of a signature: then it is verified, wanted or not."""
    return _FIELDS[0] in environ or _FIELDS[1] in environ


def check_signature(
    asked: Request, principal: Principal, read_content: Callable[[], bytes]
) -> Principal:
    """The principal of a request that it has signed; the contract's refusals where that does not hold.

    The nonce is spent when this returns.
    """
    try:
        _verify(asked.environ, principal, read_content)
    except (SignatureRefused, DigestRefused) as error:
        _note(asked, principal, error)
        raise
    return principal.as_signer()


def check_unsigned(asked: Request, principal: Principal) -> None:
    """Raise SignatureMissing where the tenant wants this request signed."""
    if principal.must_sign and asked.method not in SAFE:
        error = SignatureMissing()
        _note(asked, principal, error)
        raise error


def _note(asked: Request, principal: Principal, error: RestanteError) -> None:
    """A refusal is worth an entry: somebody has the token, and perhaps not the key."""
    why = type(error).__name__
    by, who = origin_of(asked, principal), principal.public_id
    house().refusals.note(RefusedCall(by, who, why, who, why, Action.SIGNATURE_REFUSE))


def _verify(environ: Environ, principal: Principal, read_content: Callable[[], bytes]) -> None:
    here = house()
    verify(
        message_of(environ, here.settings.public_url),
        now=here.authority.now(),
        find_key=partial(here.signers.find, principal.id),
        read_content=read_content,
        spend_nonce=partial(spend, here.combiners[Kind.NONCE].run),
    )


def message_of(environ: Environ, origin: str) -> Message:
    """The request as its signature sees it."""
    return Message(
        method=environ["REQUEST_METHOD"],
        target=_target(environ),
        host=environ.get("HTTP_HOST", ""),
        origin=origin,
        fields=_fields(environ),
    )


def has_query(environ: Environ) -> bool:
    """Whether the target has a query, be it an empty one."""
    return "?" in _target(environ)


def _target(environ: Environ) -> str:
    """As it stood in the request line; PATH_INFO is decoded, and no signature is of that."""
    target: str | None = environ.get("RAW_URI") or environ.get("REQUEST_URI")
    if target is None:
        query = environ.get("QUERY_STRING")
        path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
        target = quote(path.encode("latin-1")) + (f"?{query}" if query else "")
    return target


def lines_of(environ: Environ) -> Sequence[tuple[str, str]] | None:
    """(name, value) of each line of the request's head as it came; None: another server than ours."""
    return getattr(environ.get("gunicorn.socket"), "lines", None)


def _fields(environ: Environ) -> dict[str, Sequence[str]]:
    """The lines of each field. A server of ours tells them apart; WSGI joins them by a bare comma."""
    fields: defaultdict[str, list[str]] = defaultdict(list)
    lines = lines_of(environ)
    if lines is None:
        for name, value in environ.items():
            if name.startswith("HTTP_"):
                fields[name[5:].replace("_", "-").lower()].append(value)
        for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            if environ.get(name):
                fields[name.replace("_", "-").lower()].append(environ[name])
    else:
        for name, value in lines:
            fields[name.lower()].append(value)
    return dict(fields)
