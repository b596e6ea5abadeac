"""Settings from the environment (contract section 8). An unsafe or contradictory one stops the start.

Every setting is `RESTANTE_` and the name of the field in capitals; a fault is one sentence that
names the setting and says what would do.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from restante.egress.allowance import parse_allowance, parse_issuer, parse_own, parse_ports
from restante.egress.dial import tls_context
from restante.egress.forward import parse_forward
from restante.egress.policy import Policy
from restante.identity.oidc import configuration as oidc
from restante.storage.address import check_database_url, parse_address
from restante.storage.instance import InstanceRefused, kept_secret

PREFIX = "RESTANTE_"
SECRET_LENGTH = 32
DATABASE_FILE = "restante.db"
MAKE_SECRET = "python3 -c 'import secrets; print(secrets.token_urlsafe(48))'"
DEFAULT_PUBLIC_URL = "http://127.0.0.1:8000"


def default_folder() -> Path:
    """`instance/` of the checkout, or of the working directory where the program is installed."""
    home = Path(__file__).resolve().parent
    return (home if (home / "pyproject.toml").exists() else Path.cwd()) / "instance"


class SettingsRefused(Exception):
    """The settings cannot be used; one sentence per fault."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


_READERS: dict[str, Callable[[str], object]] = {
    "oidc_groups": oidc.parse_groups,
    "egress_allow": parse_allowance,
    "egress_own": partial(parse_own, ""),
    "egress_ports": parse_ports,
    "egress_proxy": parse_forward,
}
"""Settings that are text to be read: what cannot be is refused at the start, in its reader's words."""


class Settings(BaseSettings):
    """What an operator may set. Lengths are in seconds, sizes in bytes."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="ignore", validate_default=False
    )

    instance: Path = Field(default_factory=default_folder)
    database_url: str = ""
    database_slots: int = Field(default=10, ge=1, le=1000)
    secret_key: SecretStr = SecretStr("")
    secret_key_previous: SecretStr = SecretStr("")
    public_url: str = DEFAULT_PUBLIC_URL
    trusted_proxies: int = Field(default=0, ge=0, le=16)
    maintenance: Literal["on", "off"] = "on"
    log_format: Literal["text", "json"] = "text"
    log_requests: Literal["on", "off"] = "off"

    lease_seconds: int = Field(default=60, ge=1, le=43_200)
    max_attempts: int = Field(default=5, ge=1, le=100)
    max_releases: int = Field(default=100, ge=1, le=30_000)
    max_pending: int = Field(default=100_000, ge=1)
    max_in_flight: int = Field(default=1_000, ge=1, le=1_000_000)
    retention_days: float = Field(default=30.0, gt=0, le=36_500, allow_inf_nan=False)
    retention_unsettled: Literal["expire", "keep"] = "expire"
    heartbeat_seconds: float = Field(default=30.0, gt=0, le=300, allow_inf_nan=False)
    payload_limit_bytes: int = Field(default=256 * 1024, ge=1024, le=8 * 1024 * 1024)
    body_limit_bytes: int = Field(default=8 * 1024 * 1024, ge=64 * 1024, le=64 * 1024 * 1024)
    key_rotation_days: float = Field(default=30.0, ge=1, le=36_500, allow_inf_nan=False)
    rate_limit_per_second: float = Field(
        default=0.0, ge=0, allow_inf_nan=False
    )  # per principal; 0: none
    max_streams: int = Field(default=10_000, ge=1)

    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: SecretStr = SecretStr("")
    oidc_scope: str = oidc.SCOPE
    oidc_groups_claim: str = Field(default="", max_length=190)
    oidc_groups: str = ""
    egress_allow: str = ""
    egress_own: str = ""
    egress_ports: str = "443,8443"
    egress_ca_file: Path | None = None
    egress_proxy: str = ""

    @property
    def embedded(self) -> bool:
        """Whether this is the embedded default: SQLite in one process."""
        return parse_address(self.database_url).url.get_backend_name() == "sqlite"

    @property
    def database_file(self) -> Path:
        """SQLite's file."""
        return Path(parse_address(self.database_url).url.database or "").absolute()

    @property
    def database_shown(self) -> str:
        """Which database it is, as people are shown it: without password."""
        if self.embedded:
            return f"sqlite:///{self.database_file}"
        return parse_address(self.database_url).shown

    @property
    def on_default_database(self) -> bool:
        """Whether it is the file that it is where no setting names another."""
        return self.embedded and self.database_file == self.instance / DATABASE_FILE

    @property
    def secret_keys(self) -> tuple[str, ...]:
        """The key that seals, then the one that still opens what was sealed before it."""
        keys = (self.secret_key.get_secret_value(), self.secret_key_previous.get_secret_value())
        return tuple(key for key in keys if key)

    @property
    def egress_policy(self) -> Policy:
        """Where calls may go."""
        return Policy(
            ports=parse_ports(self.egress_ports),
            allowance=parse_allowance(self.egress_allow),
            own=parse_own(self.public_url, self.egress_own),
            issuer=parse_issuer(self.oidc_issuer),
        )

    @property
    def forward_proxy(self) -> tuple[str, int] | None:
        """(host, port) of the forward proxy that calls go through; None: they go straight."""
        return parse_forward(self.egress_proxy)

    @property
    def oidc(self) -> oidc.Configuration | None:
        """How operators sign in through an identity provider; None where none is configured."""
        return oidc.configured(
            issuer=self.oidc_issuer,
            client_id=self.oidc_client_id,
            client_secret=self.oidc_client_secret.get_secret_value(),
            public_url=self.public_url,
            scope=self.oidc_scope,
            groups_claim=self.oidc_groups_claim,
            groups=self.oidc_groups,
        )

    @field_validator("instance")
    @classmethod
    def _absolute(cls, folder: Path) -> Path:
        return folder.expanduser().absolute()

    @field_validator("database_url")
    @classmethod
    def _known_backend(cls, text: str) -> str:
        return check_database_url(text) if text else text

    @field_validator("public_url")
    @classmethod
    def _origin(cls, text: str) -> str:
        return check_origin(text)

    @field_validator("secret_key", "secret_key_previous")
    @classmethod
    def _strong(cls, secret: SecretStr) -> SecretStr:
        text = secret.get_secret_value()
        if text and (len(text) < SECRET_LENGTH or len(set(text)) < 8):
            raise ValueError(
                f"is too easily guessed; take at least {SECRET_LENGTH} random characters ({MAKE_SECRET})"
            )
        return secret

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer(cls, text: str) -> str:
        url = urlsplit(text)
        if text and not (url.hostname and (url.scheme == "https" or is_loopback(url.hostname))):
            raise ValueError("must be an https URL")
        if url.query:
            raise ValueError("has a query, which an issuer has not")
        parse_issuer(text)
        return text

    @field_validator("oidc_scope")
    @classmethod
    def _words(cls, text: str) -> str:
        return oidc.parse_scope(text)

    @field_validator(*_READERS)
    @classmethod
    def _readable_text(cls, text: str, info: ValidationInfo) -> str:
        _READERS[str(info.field_name)](text)
        return text

    @field_validator("egress_ca_file")
    @classmethod
    def _readable(cls, file: Path | None) -> Path | None:
        if file is not None and not file.is_file():
            raise ValueError(f"names {file}, which is no file")
        try:
            tls_context(file)
        except OSError as error:
            raise ValueError(f"names {file}, which holds no certificate: {error}") from None
        return file

    @model_validator(mode="after")
    def _consistent(self) -> Settings:
        if not self.database_url:
            object.__setattr__(self, "database_url", f"sqlite:///{self.instance / DATABASE_FILE}")
        if self.payload_limit_bytes > self.body_limit_bytes:
            raise ValueError(
                "RESTANTE_PAYLOAD_LIMIT_BYTES is larger than RESTANTE_BODY_LIMIT_BYTES."
            )
        _ = self.oidc  # which says what is missing
        if self.embedded and self.maintenance == "off":
            raise ValueError(
                "RESTANTE_MAINTENANCE=off leaves SQLite without maintenance, since one process serves it: "
                "remove the setting, or use MySQL or MariaDB."
            )
        if not self.secret_key.get_secret_value():
            if not self.embedded:
                raise ValueError(
                    "RESTANTE_SECRET_KEY is not set, and a database server needs one: take at least "
                    f"{SECRET_LENGTH} random characters, the same for all ({MAKE_SECRET}), and keep it."
                )
            try:
                object.__setattr__(self, "secret_key", SecretStr(kept_secret(self.instance)))
            except (InstanceRefused, OSError) as error:
                raise ValueError(f"{error}") from None
        return self


def load_settings(**given: Any) -> Settings:
    """The settings of the environment (`given` goes before it); raises SettingsRefused."""
    try:
        return Settings(**given)
    except ValidationError as error:
        raise SettingsRefused(list(_sentences(error))) from None


def check_origin(text: str) -> str:
    """A public URL: scheme, host, port and nothing else; https, or http on loopback. Else ValueError."""
    remedy = "; write https://host, or http:// on loopback, without a path"
    try:
        url = urlsplit(text)
        host, port = url.hostname or "", url.port
    except ValueError:
        raise ValueError(f"is no URL{remedy}") from None
    if url.scheme not in ("https", "http") or not host:
        raise ValueError(f"is no URL{remedy}")
    if url.scheme == "http" and not is_loopback(host):
        raise ValueError(
            f"is http for a host that is not loopback, so tokens would travel in the clear{remedy}"
        )
    name = f"[{host}]" if ":" in host else host
    canonical = f"{url.scheme}://{name}" + (f":{port}" if port is not None else "")
    plain = text.isascii() and not host.endswith(".")
    if text != canonical or not plain or (url.scheme, port) in (("https", 443), ("http", 80)):
        raise ValueError(
            "must be an origin as browsers write it: lower case, other scripts as xn--, no dot at the end, "
            f"no path, query, user or default port{remedy}"
        )
    return text


def _sentences(error: ValidationError) -> Iterator[str]:
    for fault in error.errors(include_url=False, include_input=False):
        text = fault["msg"].removeprefix("Value error, ")
        name = PREFIX + str(fault["loc"][0]).upper() if fault["loc"] else ""
        if fault["type"] != "value_error":
            text = f"does not do: {text[:1].lower()}{text[1:]}"
        yield f"{name} {text}".strip().removesuffix(".") + "."


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host of that name or address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
