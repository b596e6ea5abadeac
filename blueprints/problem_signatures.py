"""The problems of signed requests: what their pages say, made from the errors themselves."""

from __future__ import annotations

from blueprints.problem_texts import Text
from restante.errors import RestanteError
from restante.identity.signatures import refusals

SIGN_ANEW = (
    "Sign the request anew, with a new nonce and the same Idempotency-Key, claim_id or generation, and "
    "repeat it. Accept-Signature says what has to be covered."
)
_KEY = (
    "Make a key with POST A/signing-keys and a token of the last minute, sign with it, and repeat."
)
_REMEDIES: dict[type[RestanteError], str] = {
    refusals.SignatureMissing: _KEY,
    refusals.SignatureUnknownKey: _KEY,
    refusals.SignatureNotYetValid: "Set the clock of the machine that signs, and sign the request anew.",
    refusals.SignatureExpired: "Sign the request anew. If that is refused too, set the clock of the machine "
    "that signs.",
}
_DIGEST = "Make the digest of the very bytes that are sent, with sha-256 or sha-512."

SIGNATURES: dict[type[RestanteError], str] = {
    error: f"signature-{slug}"
    for error, slug in {
        refusals.SignatureMissing: "missing",
        refusals.SignatureMalformed: "malformed",
        refusals.SignatureComponentMissing: "component-missing",
        refusals.SignatureComponentInvalid: "component-invalid",
        refusals.SignatureParamMissing: "param-missing",
        refusals.SignatureExpired: "expired",
        refusals.SignatureNotYetValid: "not-yet-valid",
        refusals.SignatureWindowInvalid: "window-invalid",
        refusals.SignatureWindowTooLong: "window-too-long",
        refusals.SignatureUnknownKey: "unknown-key",
        refusals.SignatureAlgMismatch: "alg-mismatch",
        refusals.SignatureNonceInvalid: "nonce-invalid",
        refusals.SignatureNonceReplayed: "nonce-replayed",
        refusals.SignatureAmbiguous: "ambiguous",
        refusals.SignatureInvalid: "invalid",
    }.items()
}
DIGESTS: dict[type[RestanteError], str] = {
    refusals.DigestMismatch: "digest-mismatch",
    refusals.DigestMalformed: "digest-malformed",
    refusals.DigestInvalid: "digest-invalid",
    refusals.DigestUnsupported: "digest-unsupported",
}
SIGNATURE_TEXTS: dict[str, Text] = {
    **{
        slug: Text((error.__doc__ or "").strip(), _REMEDIES.get(error, SIGN_ANEW))
        for error, slug in SIGNATURES.items()
    },
    **{slug: Text((error.__doc__ or "").strip(), _DIGEST) for error, slug in DIGESTS.items()},
}
