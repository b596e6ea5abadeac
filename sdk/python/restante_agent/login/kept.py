"""One login on this machine: a sealed file, mode 0600, beside its lock, for all processes of the agent."""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from restante_agent.errors import ConfigurationError
from restante_agent.login.keychain import Keychain, system_keychain
from restante_agent.login.private_file import (
    make_folder,
    read_private,
    remove_private,
    write_private,
)
from restante_agent.login.process_lock import ProcessLock
from restante_agent.login.sealing import Keys, Place
from restante_agent.runtime.places import state_directory
from restante_agent.wire.login import Kept

FILE = "login.json"
_VERSION = 1
_NONCE_BYTES = 12


class KeptLogin:
    """The login of an agent at a server, whether or not there is one now (`wire.login.Shelf`)."""

    def __init__(
        self,
        base_url: str,
        agent_id: str,
        *,
        base: Path | None = None,
        environ: Mapping[str, str] | None = None,
        keychain: Callable[[], Keychain] = system_keychain,
    ) -> None:
        self.base_url, self.agent_id = base_url, agent_id
        folder = state_directory(base_url, agent_id, base)
        self.path = folder / FILE
        self._lock = ProcessLock(folder / "login.lock")
        self._keys = Keys(
            f"{agent_id} at {base_url}",
            folder / "login.key",
            environ=os.environ if environ is None else environ,
            keychain=keychain,
        )

    def __repr__(self) -> str:
        return f"KeptLogin({self.base_url!r}, {self.agent_id!r})"

    def try_lock(self) -> bool:
        with self._told():
            make_folder(self.path.parent)
            return self._lock.try_acquire()

    def unlock(self) -> None:
        self._lock.release()

    def read(self) -> Kept | None:
        """What is kept; ConfigurationError where it cannot be opened, or others could have."""
        members = self._members()
        if members is None:
            return None
        for _ in range(2):
            try:
                return self._opened(members)
            except InvalidTag:
                self._keys.look_again()
        raise ConfigurationError(
            f"{self.path} is not what its key ({members['key']}) has sealed: log in again"
        )

    def write(self, kept: Kept) -> None:
        """Keep this in place of what is there, sealed by the same key."""
        place = self.place()
        if place is None:
            self.begin(kept)
        else:
            self._seal(kept, place)

    def begin(self, kept: Kept) -> str:
        """Keep a new login, sealed by the best key there is; returns where that is."""
        with self._told():
            make_folder(self.path.parent)
            place, name = self._keys.choose()
        self._seal(kept, place)
        return name

    def forget(self) -> None:
        place = self.place()
        with self._told():
            remove_private(self.path)
            if place is not None:
                self._keys.forget(place)

    def place(self) -> Place | None:
        """Where its key is; None where there is no login."""
        members = self._members()
        return None if members is None else Place(members["key"])

    def _seal(self, kept: Kept, place: Place) -> None:
        with self._told():
            nonce = secrets.token_bytes(_NONCE_BYTES)
            text = json.dumps(asdict(kept)).encode()
            sealed = AESGCM(self._keys.key(place)).encrypt(nonce, text, self._about(place))
            members = {
                "version": _VERSION,
                "base_url": self.base_url,
                "agent_id": self.agent_id,
                "key": place.value,
                "nonce": base64.b64encode(nonce).decode(),
                "sealed": base64.b64encode(sealed).decode(),
            }
            write_private(self.path, json.dumps(members).encode() + b"\n")

    def _opened(self, members: dict[str, Any]) -> Kept:
        place = Place(members["key"])
        nonce, sealed = (base64.b64decode(members[name]) for name in ("nonce", "sealed"))
        text = AESGCM(self._keys.key(place)).decrypt(nonce, sealed, self._about(place))
        return Kept(**json.loads(text))

    def _about(self, place: Place) -> bytes:
        """What is sealed with it, so that no login can be put into another's place."""
        return json.dumps([_VERSION, self.base_url, self.agent_id, place.value]).encode()

    def _members(self) -> dict[str, Any] | None:
        with self._told():
            content = read_private(self.path)
        return None if content is None else members_of(content, self.path)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ConfigurationError(
                f"the login cannot be kept in {self.path.parent} ({error.strerror}); mend that, or"
                " choose another folder with --state-dir or RESTANTE_STATE_DIR"
            ) from error


def members_of(content: bytes, path: Path) -> dict[str, Any]:
    """The members of a login's file; ConfigurationError where it is none."""
    try:
        members = json.loads(content)
        if members["version"] != _VERSION:
            raise ConfigurationError(f"{path} was written by another version of restante-agent")
        if not all(
            isinstance(members[n], str) for n in ("base_url", "agent_id", "nonce", "sealed")
        ):
            raise ValueError(path)
        Place(members["key"])
        base64.b64decode(members["sealed"])
        if len(base64.b64decode(members["nonce"])) != _NONCE_BYTES:
            raise ValueError(path)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ConfigurationError(f"{path} is damaged: remove it and log in again") from None
    found: dict[str, Any] = members
    return found
