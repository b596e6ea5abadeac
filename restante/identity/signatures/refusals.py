"""Why a signature or a digest is not accepted: one class for each of the contract's names."""

from __future__ import annotations

from restante.errors import RestanteError


class SignatureRefused(RestanteError):
    """The signature of the request is not accepted."""


class SignatureMissing(SignatureRefused):
    """The request had to be signed, and is not."""


class SignatureMalformed(SignatureRefused):
    """Signature and Signature-Input are not one readable pair."""


class SignatureComponentMissing(SignatureRefused):
    """The signature does not cover a component that it has to."""


class SignatureComponentInvalid(SignatureRefused):
    """The signature covers a component that the request has not, or not so."""


class SignatureParamMissing(SignatureRefused):
    """The signature lacks one of `created`, `expires`, `keyid`, `nonce`."""


class SignatureExpired(SignatureRefused):
    """The signature's `expires` has passed."""


class SignatureNotYetValid(SignatureRefused):
    """The signature's `created` lies more than 30 s in the future."""


class SignatureWindowInvalid(SignatureRefused):
    """The signature's `expires` is not after its `created`."""


class SignatureWindowTooLong(SignatureRefused):
    """The signature's `expires` is more than 300 s after its `created`."""


class SignatureUnknownKey(SignatureRefused):
    """There is no such signing key for this agent."""


class SignatureAlgMismatch(SignatureRefused):
    """The signature names another algorithm than its key is for."""


class SignatureNonceInvalid(SignatureRefused):
    """The signature's `nonce` has not 16 to 128 characters."""


class SignatureNonceReplayed(SignatureRefused):
    """The signature's `nonce` was used before with this key."""


class SignatureAmbiguous(SignatureRefused):
    """The request carries more than one signature."""


class SignatureInvalid(SignatureRefused):
    """The signature does not verify."""


class DigestRefused(RestanteError):
    """The digest of the body is not accepted."""


class DigestMismatch(DigestRefused):
    """The body is not the one that Content-Digest was made of."""


class DigestMalformed(DigestRefused):
    """Content-Digest cannot be read as a dictionary of byte sequences."""


class DigestInvalid(DigestRefused):
    """Content-Digest holds a value that no digest of its algorithm can have."""


class DigestUnsupported(DigestRefused):
    """Content-Digest names no algorithm that is taken: send sha-256 or sha-512."""
