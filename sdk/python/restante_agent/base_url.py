"""The address of a server."""

from __future__ import annotations

from urllib.parse import urlsplit

from restante_agent.errors import ConfigurationError

LOOPBACK = ("localhost", "127.0.0.1", "::1")


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
