"""The keys under which logins are sealed, and where each is kept.

What such a seal is worth depends on the place. In the system's keychain, or in an environment that a
supervisor fills from a store of secrets, the key is not where the file is: a copied disk or backup tells
nothing. A key file beside the sealed one protects where that one is copied alone, and not else; it is
what is left where there is no keychain, and is always named.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path

from restante_agent.errors import ConfigurationError
from restante_agent.login.keychain import Keychain, KeychainRefused
from restante_agent.login.private_file import read_private, write_private

VARIABLE = "RESTANTE_AGENT_KEY"
_KEY_BYTES = 32
_LEAST_CHARACTERS = 32


class Place(StrEnum):
    """Where a key is kept."""

    ENVIRONMENT = "environment"
    KEYCHAIN = "keychain"
    FILE = "file"


class Keys:
    """The keys of one login. `account` names it in the keychain, `path` is that of a key file."""

    def __init__(
        self,
        account: str,
        path: Path,
        *,
        environ: Mapping[str, str],
        keychain: Callable[[], Keychain],
    ) -> None:
        self._account, self.path = account, path
        self._environ, self._keychain = environ, keychain
        self._known: dict[Place, bytes] = {}

    def choose(self) -> tuple[Place, str]:
        """The best place there is, with a key in it, and what to call it.

        A key that is there stays: what another process has sealed can be opened still.
        """
        if self._environ.get(VARIABLE):
            self._known[Place.ENVIRONMENT] = self._of_environment()
            return Place.ENVIRONMENT, VARIABLE
        try:
            keychain = self._keychain()
            kept = keychain.get(self._account)
            if kept is None or _decoded(kept) is None:
                kept = _new()
                keychain.set(self._account, kept)
            self._known[Place.KEYCHAIN] = _decoded(kept) or b""
            return Place.KEYCHAIN, keychain.name
        except KeychainRefused as refusal:
            if self._of_file() is None:
                write_private(self.path, _new().encode())
            return Place.FILE, f"{self.path} ({refusal})"

    def key(self, place: Place) -> bytes:
        """The key that is kept there; ConfigurationError, with the remedy, where it cannot be had."""
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = self._find(place)
        return known

    def look_again(self) -> None:
        """Another process may have made a new one."""
        self._known.clear()

    def forget(self, place: Place) -> None:
        """The key of a login that is over; it opens nothing any more."""
        self._known.clear()
        if place is Place.FILE:
            self.path.unlink(missing_ok=True)
        elif place is Place.KEYCHAIN:
            try:
                self._keychain().forget(self._account)
            except KeychainRefused:
                return

    def _find(self, place: Place) -> bytes:
        if place is Place.ENVIRONMENT:
            if not self._environ.get(VARIABLE):
                raise ConfigurationError(
                    f"the login is sealed by {VARIABLE}: set it as it was when the login was made, or"
                    " log in again"
                )
            return self._of_environment()
        if place is Place.FILE:
            found = self._of_file()
            if found is None:
                raise ConfigurationError(f"the login's key {self.path} is gone: log in again")
            return found
        try:
            kept = self._keychain().get(self._account)
        except KeychainRefused as refusal:
            raise ConfigurationError(
                f"the login's key is in this user's keychain, which does not give it ({refusal}):"
                " unlock it, or log in again"
            ) from refusal
        found = None if kept is None else _decoded(kept)
        if found is None:
            raise ConfigurationError("the login's key is gone from the keychain: log in again")
        return found

    def _of_environment(self) -> bytes:
        secret = self._environ[VARIABLE]
        if len(secret) < _LEAST_CHARACTERS:
            raise ConfigurationError(
                f"{VARIABLE} has fewer than {_LEAST_CHARACTERS} characters; make one that is random,"
                " with `openssl rand -hex 32`"
            )
        return hmac.digest(secret.encode(), f"login {self._account}".encode(), "sha256")

    def _of_file(self) -> bytes | None:
        content = read_private(self.path)
        return None if content is None else _decoded(content.decode("ascii", "replace"))


def _new() -> str:
    return base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()


def _decoded(text: str) -> bytes | None:
    try:
        key = base64.b64decode(text.strip(), validate=True)
    except ValueError:
        return None
    return key if len(key) == _KEY_BYTES else None
