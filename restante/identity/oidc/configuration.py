"""What the settings say about signing in through an identity provider. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from restante.identity.roles import Role

SCOPE = "openid email"
RETURN_PATH = "/sign-in/oidc/return"
_EXAMPLE = '{"inbox-admins": "acme:tenant_admin", "root": "platform_admin"}'


@dataclass(frozen=True, slots=True)
class Place:
    """A role in a tenant; `tenant` is its id or name, None with the role of the platform."""

    tenant: str | None
    role: Role


@dataclass(frozen=True, slots=True)
class Groups:
    """Which members of which groups are what. `claim`: where the provider says who is in which."""

    claim: str
    places: Mapping[str, tuple[Place, ...]]


@dataclass(frozen=True, slots=True)
class Configuration:
    """One identity provider, and this installation as its client.

    `groups` None: who may come in is who was invited, by e-mail.
    """

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    public_url: str
    scope: str = SCOPE
    groups: Groups | None = None

    @property
    def redirect_uri(self) -> str:
        """To be registered at the provider, exactly so."""
        return f"{self.public_url}{RETURN_PATH}"

    @property
    def tenants(self) -> tuple[str, ...]:
        """Those that groups give a role in, by id or name."""
        listed = self.groups.places.values() if self.groups else ()
        return tuple(sorted({one.tenant for places in listed for one in places if one.tenant}))


def configured(
    *,
    issuer: str,
    client_id: str,
    client_secret: str,
    public_url: str,
    scope: str,
    groups_claim: str,
    groups: str,
) -> Configuration | None:
    """What the settings say together, each of which was read before; ValueError with a sentence."""
    needed = (issuer, client_id, client_secret)
    if any(needed) and not all(needed):
        raise ValueError(
            "RESTANTE_OIDC_ISSUER, RESTANTE_OIDC_CLIENT_ID and RESTANTE_OIDC_CLIENT_SECRET go together: "
            "set all three or none."
        )
    if bool(groups_claim) != bool(groups):
        raise ValueError(
            "RESTANTE_OIDC_GROUPS_CLAIM (where the provider says who is in which group) and "
            "RESTANTE_OIDC_GROUPS (what its members are here) go together: set both or none."
        )
    if groups and not issuer:
        raise ValueError(
            "RESTANTE_OIDC_GROUPS needs RESTANTE_OIDC_ISSUER: set it, or remove the groups."
        )
    if not issuer:
        return None
    places = parse_groups(groups)
    return Configuration(
        issuer=issuer,
        client_id=client_id,
        client_secret=client_secret,
        public_url=public_url,
        scope=parse_scope(scope),
        groups=Groups(groups_claim, places) if places else None,
    )


def parse_scope(text: str) -> str:
    """The scope that is asked for; ValueError with the end of a sentence."""
    words = text.split()
    if "openid" not in words or any(not word.isascii() or '"' in word for word in words):
        raise ValueError(
            'must be words with spaces between, openid among them; write "openid email"'
        )
    return " ".join(words)


def parse_groups(text: str) -> Mapping[str, tuple[Place, ...]]:
    """A JSON object, group -> `tenant:role`, or a list of such; ValueError likewise."""
    if not text:
        return {}
    remedy = f"; write a JSON object such as {_EXAMPLE}"
    try:
        found = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON object ({error}){remedy}") from None
    if not isinstance(found, dict) or not found or "" in found:
        raise ValueError(f"names no group{remedy}")
    return {group: tuple(_places(group, told)) for group, told in found.items()}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("it names a group twice")
    return members


def _places(group: str, told: object) -> Iterator[Place]:
    listed = told if isinstance(told, list) else [told]
    if not listed:
        raise ValueError(f"gives the group {group!r} nothing")
    for one in listed:
        tenant, _, role = one.rpartition(":") if isinstance(one, str) else ("", "", "")
        if role not in set(Role) or (not tenant) != (role == Role.PLATFORM_ADMIN.value):
            raise ValueError(
                f"gives the group {group!r} {one!r}, which is neither tenant:operator, "
                "tenant:tenant_admin nor platform_admin"
            )
        yield Place(tenant or None, Role(role))
