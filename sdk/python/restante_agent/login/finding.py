"""Which of the logins on this machine is meant."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from restante_agent.base_url import checked_url
from restante_agent.errors import ConfigurationError
from restante_agent.login.kept import FILE, KeptLogin, members_of
from restante_agent.login.private_file import read_private
from restante_agent.runtime.places import state_root

ANY_AGENT = "restante-agent"
"""The client of a login whose agent an operator picks."""


def logins(
    base: Path | None = None, *, environ: Mapping[str, str] | None = None
) -> list[KeptLogin]:
    """All that are kept below `base`, or the user's state directory, in the order of their names."""
    found = []
    for path in sorted(state_root(base).glob(f"*/{FILE}")):
        content = read_private(path)
        if content is not None:
            members = members_of(content, path)
            login = KeptLogin(members["base_url"], members["agent_id"], base=base, environ=environ)
            if login.path == path:
                found.append(login)
    return found


def find_login(
    url: str | None,
    client_id: str | None,
    *,
    base: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> KeptLogin:
    """The one login at this server, of this agent; ConfigurationError where it is none, or not clear."""
    server = checked_url(url) if url else None
    agent = None if client_id == ANY_AGENT else client_id
    if agent is not None and agent.startswith("svc_"):
        raise ConfigurationError(f"set RESTANTE_CLIENT_SECRET for {agent}: only agents log in")
    found = [
        login
        for login in logins(base, environ=environ)
        if server in (None, login.base_url) and agent in (None, login.agent_id)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        named = ", ".join(f"{login.agent_id} at {login.base_url}" for login in found)
        raise ConfigurationError(
            f"there is more than one login ({named}): say which with RESTANTE_URL and"
            " RESTANTE_CLIENT_ID, or --url and --client-id"
        )
    whose = f" of {agent}" if agent else ""
    where = f" at {server}" if server else ""
    raise ConfigurationError(
        f"there is no login{whose}{where} here: log in with `restante-agent login --url"
        f" {server or 'URL'}`, or set RESTANTE_URL, RESTANTE_CLIENT_ID and RESTANTE_CLIENT_SECRET"
    )
