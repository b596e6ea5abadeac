"""How a client is told where and who: arguments first, then the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

from restante_agent.errors import ConfigurationError
from restante_agent.runtime.places import state_directory
from restante_agent.signing_file import SigningFile
from restante_agent.wire.core import Core, Shared
from restante_agent.wire.retry import RetryPolicy
from restante_agent.wire.signature import SigningKey
from restante_agent.wire.signing import Signing
from restante_agent.wire.token import ClientCredentials

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def core_for(
    base_url: str,
    client_id: str,
    client_secret: str,
    *,
    scope: str | None = None,
    agent_id: str | None = None,
    sign: bool | SigningKey | None = None,
    retry: RetryPolicy | None = None,
    read_seconds: float = 15.0,
    random: Random | None = None,
) -> Core:
    """Validated settings. An agent's `client_id` is its agent id, so `agent_id` follows from it.

    `sign` None: when the server asks for it; True: always, by minted keys; a key: always, by that.
    """
    if not client_id or not client_secret:
        raise ConfigurationError("client_id and client_secret must not be empty")
    if agent_id is None and client_id.startswith("agt_"):
        agent_id = client_id
    signing = Signing(True, sign) if isinstance(sign, SigningKey) else Signing(sign)
    return Core(
        base_url=checked_url(base_url),
        credentials=ClientCredentials(client_id, client_secret, scope),
        agent_id=agent_id,
        retry=retry or RetryPolicy(),
        read_seconds=read_seconds,
        random=random or Random(),  # noqa: S311 - spreads waits, guards nothing
        shared=Shared(signing=signing),
    )


def signing_file(core: Core, state_dir: Path | None) -> SigningFile | None:
    """Where a minted key is kept, of an agent whose client may mint; a key there is used at once."""
    signing = core.shared.signing
    if not core.is_agent or signing.own is not None or signing.wanted is False:
        return None
    folder = state_directory(core.base_url, core.credentials.client_id, state_dir)
    kept = SigningFile(folder / "signing-key.json")
    if signing.wanted is None and kept.path.exists():
        signing.wanted = True
    return kept


def checked_url(url: str) -> str:
    """The origin without a trailing slash; https, or http on loopback, where secrets stay home."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError(f"{url!r} is no base URL; give one like https://inbox.example")
    if parts.username or parts.password:
        raise ConfigurationError("the base URL must not carry a user name or a password")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ConfigurationError(f"{url!r}: the base URL is an origin, without a path")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise ConfigurationError(f"{url!r}: a secret travels only by https, or http on loopback")
    return f"{parts.scheme}://{parts.netloc}"


def from_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """base_url, client_id and client_secret from RESTANTE_URL, _CLIENT_ID and _CLIENT_SECRET."""
    environ = os.environ if environ is None else environ
    found = {
        "base_url": environ.get("RESTANTE_URL", ""),
        "client_id": environ.get("RESTANTE_CLIENT_ID", ""),
        "client_secret": environ.get("RESTANTE_CLIENT_SECRET", ""),
    }
    names = {"base_url": "URL", "client_id": "CLIENT_ID", "client_secret": "CLIENT_SECRET"}
    missing = [f"RESTANTE_{names[name]}" for name, value in found.items() if not value]
    if missing:
        raise ConfigurationError(f"set {', '.join(missing)} in the environment")
    return found
