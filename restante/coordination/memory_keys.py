"""What a key of memory may be. Pure."""

from __future__ import annotations

import re

from restante.errors import ValidationFailed
from restante.identity.names import is_tidy

LONGEST = 200

# none of what stands for bytes that were no UTF-8
_KEY = re.compile(r"[^\ufffd\ud800-\udfff]{1,200}")
# what is between slashes; RFC 3986, section 5.2.4, has clients take these out of an address
_DOTS = frozenset({".", ".."})


def check_key(key: str, pointer: str) -> None:
    """ValidationFailed, at the pointer, for a key that memory does not take."""
    if not _KEY.fullmatch(key) or not is_tidy(key):
        raise ValidationFailed.at(
            pointer, f"must be 1 to {LONGEST} characters of UTF-8 without control characters"
        )
    if not _DOTS.isdisjoint(key.split("/")):
        raise ValidationFailed.at(
            pointer, "must have no part . or .. between slashes: no address could name it"
        )
