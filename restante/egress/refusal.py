"""What the egress refuses and what goes wrong in a call, with words for the audit log.

`detail` is one sentence whatever the reason, since a tenant who could tell them apart would have
a scanner; `reason`, `cause` and `note` are for the audit log and the operator of the machine.
"""

from __future__ import annotations

from enum import StrEnum

from restante.errors import RestanteError


class Reason(StrEnum):
    """Why a URL is refused."""

    LENGTH = "length"
    CHARACTERS = "characters"
    SCHEME = "scheme"
    FRAGMENT = "fragment"
    USERINFO = "userinfo"
    HOST = "host"
    ADDRESS_FORM = "address_form"
    PORT = "port"
    LITERAL = "literal"
    SINGLE_LABEL = "single_label"
    PRIVATE_NAME = "private_name"
    OWN = "own"
    METADATA = "metadata"
    NOT_PUBLIC = "not_public"


class Cause(StrEnum):
    """Why a call of an allowed URL came to nothing."""

    LOOKUP = "lookup"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"


class EgressRefused(RestanteError):
    """This URL is not allowed."""

    def __init__(self, reason: Reason, note: str) -> None:
        super().__init__()
        self.reason = reason
        self.note = note


class CallFailed(RestanteError):
    """The call came to nothing."""

    def __init__(self, cause: Cause, note: str) -> None:
        super().__init__()
        self.cause = cause
        self.note = note
