"""Problems whose names are given, and which no call of this version answers with yet.

A client can be written against their names now. When a call comes that raises one, its entry moves
to `problems.py` and `problem_texts.py`.
"""

from __future__ import annotations

from blueprints.problem_texts import Text
from blueprints.problems import Kind

_SIGN_ANEW = "Sign the request anew, with a new nonce and the same Idempotency-Key, and repeat it."
_SIGNATURES = {
    "missing": "The request had to be signed, and is not.",
    "malformed": "Signature or Signature-Input cannot be read.",
    "component-missing": "The signature does not cover a component that it has to.",
    "component-invalid": "The signature covers a component that the request has not, or not so.",
    "param-missing": "The signature lacks one of `created`, `expires`, `keyid`, `nonce`.",
    "expired": "The signature's `expires` has passed.",
    "not-yet-valid": "The signature's `created` lies in the future.",
    "window-invalid": "The signature's `expires` is not after its `created`.",
    "window-too-long": "The signature's `expires` is more than 300 s after its `created`.",
    "unknown-key": "There is no such signing key for this agent.",
    "alg-mismatch": "The signature names another algorithm than its key is for.",
    "nonce-invalid": "The signature's `nonce` has not 16 to 128 characters.",
    "nonce-replayed": "The signature's `nonce` was used before with this key.",
    "ambiguous": "The request carries more than one signature.",
    "invalid": "The signature does not verify.",
}
_DIGESTS = {
    "mismatch": "The body is not the one that Content-Digest was made of.",
    "malformed": "Content-Digest cannot be read.",
    "invalid": "Content-Digest holds a value that no digest of its algorithm can have.",
    "unsupported": "Content-Digest names no algorithm that is taken: send sha-256 or sha-512.",
}
_OTHERS = {
    "token-too-old": (
        403,
        "The access token is too old for this",
        "A signing key is made or registered only with an access token of the last 60 s.",
        "Get a new access token and repeat the request at once.",
    ),
    "callback-conflict": (
        409,
        "Another callback delivers already",
        "The agent has an active callback with mode `deliver` for this project.",
        "Suspend or remove that one first.",
    ),
    "too-many-keys": (
        409,
        "There are too many signing keys",
        "The agent has four live signing keys, as many as it may.",
        "Delete one, or wait until one has run out.",
    ),
    "turn-conflict": (
        409,
        "The turn could not be taken",
        "A part of the turn could not be done, so none of it was: `failures` says which and why.",
        "Look at `failures`, read the state again, and take the turn anew.",
    ),
    "version-conflict": (
        412,
        "The version is another one by now",
        "If-Match names another version than the present one. Nothing was changed.",
        "Read it again, and repeat the write with the version you get.",
    ),
    "callback-refused": (
        422,
        "The URL is not taken as a callback",
        "Judged by its text alone, the URL is none that this server calls.",
        "Take an https URL with a public host name, on port 443 or 8443, without user or fragment.",
    ),
    "challenge-failed": (
        422,
        "The callback did not answer its challenge",
        "The receiver could not be reached, or did not give the right answer: `reason` says which.",
        "Mend the receiver, and have it challenged again under the `callback_id` told.",
    ),
}


def _reserved() -> dict[str, tuple[Kind, Text]]:
    told = {
        slug: (Kind(slug, status, title), Text(happened, remedy))
        for slug, (status, title, happened, remedy) in _OTHERS.items()
    }
    for name, happened in _SIGNATURES.items():
        kind = Kind(f"signature-{name}", 401, "The signature of the request is not accepted")
        told[kind.slug] = (kind, Text(happened, _SIGN_ANEW))
    for name, happened in _DIGESTS.items():
        kind = Kind(f"digest-{name}", 400, "The digest of the body is not accepted")
        told[kind.slug] = (kind, Text(happened, "Make the digest of the very bytes that are sent."))
    return told


RESERVED = _reserved()
