"""The operating system's store of secrets, by the `keyring` package where it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

SERVICE = "restante-agent"
_RECOMMENDED = 1  # keyring's own word for a backend that is fit for use


class KeychainRefused(Exception):
    """There is no such store here, or it does not give or take the secret; the message says why."""


class Keychain:
    """Keychain, Credential Manager, Secret Service, or whatever backend the user has chosen."""

    def __init__(self, backend: Any) -> None:
        self._backend = backend
        self.name = str(getattr(backend, "name", "") or type(backend).__name__)

    def get(self, account: str) -> str | None:
        try:
            found = self._backend.get_password(SERVICE, account)
        except Exception as error:
            raise self._refused(error) from error
        return found if isinstance(found, str) and found else None

    def set(self, account: str, secret: str) -> None:
        """Keep it; it has been read back when this returns."""
        try:
            self._backend.set_password(SERVICE, account, secret)
        except Exception as error:
            raise self._refused(error) from error
        if self.get(account) != secret:
            raise KeychainRefused(f"{self.name} does not give back what it was given")

    def forget(self, account: str) -> None:
        try:
            if self._backend.get_password(SERVICE, account) is not None:
                self._backend.delete_password(SERVICE, account)
        except Exception as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> KeychainRefused:
        # its kind only: nobody knows what a backend writes into its messages
        return KeychainRefused(f"{self.name}: {type(error).__name__}")


def system_keychain() -> Keychain:
    """The store of this system; KeychainRefused where there is none that keeps a secret secret."""
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        raise KeychainRefused(
            "the package keyring is not installed (pip install 'restante-agent[keyring]')"
        ) from None
    try:
        chosen = keyring.get_keyring()
        fit = [backend for backend in _parts(chosen) if _is_fit(backend)]
    except Exception as error:
        raise KeychainRefused(f"keyring: {type(error).__name__}") from error
    if not fit:
        raise KeychainRefused("this system has no store of secrets that is open to this user")
    return Keychain(fit[0])


def _parts(backend: Any) -> Iterable[Any]:
    """A chain writes to whichever of its parts takes it; here it is the best that is fit, or none."""
    parts = getattr(backend, "backends", None)
    return [backend] if parts is None else parts


def _is_fit(backend: Any) -> bool:
    """Not keyring's null and fail backends, and none that writes a file anybody can decode."""
    kind = f"{type(backend).__module__}.{type(backend).__name__}".lower()
    named = any(word in kind for word in ("plaintext", "null", ".fail"))
    return not named and float(backend.priority) >= _RECOMMENDED
