"""How a client is told where and who: arguments first, then the environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from restante_agent.base_url import checked_url
from restante_agent.errors import ConfigurationError
from restante_agent.login.finding import find_login
from restante_agent.login.kept import KeptLogin
from restante_agent.runtime.places import state_directory
from restante_agent.signing_file import SigningFile
from restante_agent.wire.core import Core, Shared
from restante_agent.wire.login import Login
from restante_agent.wire.retry import RetryPolicy
from restante_agent.wire.signature import SigningKey
from restante_agent.wire.signing import Signing
from restante_agent.wire.token import ClientCredentials


def core_for(
    base_url: str,
    credentials: ClientCredentials | Login,
    *,
    agent_id: str | None = None,
    sign: bool | SigningKey | None = None,
    retry: RetryPolicy | None = None,
    read_seconds: float = 15.0,
    random: Random | None = None,
) -> Core:
    """Validated settings. An agent's credentials name the agent, so `agent_id` follows from them.

    `sign` None: when the server asks for it; True: always, by minted keys; a key: always, by that.
    """
    base_url = checked_url(base_url)
    if isinstance(credentials, Login) and credentials.shelf.base_url != base_url:
        raise ConfigurationError(f"this is a login at {credentials.shelf.base_url}, not {base_url}")
    if agent_id is None and credentials.principal_id.startswith("agt_"):
        agent_id = credentials.principal_id
    signing = Signing(True, sign) if isinstance(sign, SigningKey) else Signing(sign)
    return Core(
        base_url=base_url,
        credentials=credentials,
        agent_id=agent_id,
        retry=retry or RetryPolicy(),
        read_seconds=read_seconds,
        random=random or Random(),  # noqa: S311 - spreads waits, guards nothing
        shared=Shared(signing=signing),
    )


def credentials_for(
    client_id: str,
    client_secret: str,
    *,
    scope: str | None,
    login: KeptLogin | None,
    monotonic: Callable[[], float],
    wall: Callable[[], float],
) -> ClientCredentials | Login:
    """A secret or a kept login, whichever was given; ConfigurationError for both or none of them."""
    if login is not None:
        if client_secret or scope is not None:
            raise ConfigurationError(
                "a login has its own scopes and no secret: give a client either a login, or a"
                " client_secret and, if it should ask for less, a scope"
            )
        return Login(login, monotonic, wall)
    if not client_id or not client_secret:
        raise ConfigurationError("client_id and client_secret must not be empty")
    return ClientCredentials(client_id, client_secret, scope)


def signing_file(core: Core, state_dir: Path | None) -> SigningFile | None:
    """Where a minted key is kept, of an agent whose client may mint; a key there is used at once."""
    signing = core.shared.signing
    if not core.is_agent or signing.own is not None or signing.wanted is False:
        return None
    folder = state_directory(core.base_url, core.credentials.principal_id, state_dir)
    kept = SigningFile(folder / "signing-key.json")
    if signing.wanted is None and kept.path.exists():
        signing.wanted = True
    return kept


def from_environment(
    environ: Mapping[str, str] | None = None, *, state_dir: Path | None = None
) -> dict[str, Any]:
    """What a client is made with: RESTANTE_CLIENT_ID and _CLIENT_SECRET, or without a secret a login.

    RESTANTE_URL names the server; a login's own is used where that is not set and there is but one.
    Logins are looked for in `state_dir`, else RESTANTE_STATE_DIR, else the user's state directory.
    """
    environ = os.environ if environ is None else environ
    url, client_id, secret = (
        environ.get(name, "")
        for name in ("RESTANTE_URL", "RESTANTE_CLIENT_ID", "RESTANTE_CLIENT_SECRET")
    )
    if secret:
        found = {"RESTANTE_URL": url, "RESTANTE_CLIENT_ID": client_id}
        missing = [name for name, value in found.items() if not value]
        if missing:
            raise ConfigurationError(f"set {', '.join(missing)} in the environment")
        return {"base_url": url, "client_id": client_id, "client_secret": secret}
    if state_dir is None and environ.get("RESTANTE_STATE_DIR"):
        state_dir = Path(environ["RESTANTE_STATE_DIR"])
    login = find_login(url or None, client_id or None, base=state_dir, environ=environ)
    return {"base_url": login.base_url, "login": login, "state_dir": state_dir}
