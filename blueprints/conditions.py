"""If-Match and If-None-Match of a write (RFC 9110, section 13.1): what its writer takes to be there."""

from __future__ import annotations

import re

from flask import Request

from restante.coordination.entries import Expect
from restante.errors import ValidationFailed

_TAG = r'(?:W/)?"[\x21\x23-\x7e]*"'
_TAGS = re.compile(rf"{_TAG}(?:\s*,\s*{_TAG})*")
# a weak tag matches nothing here (section 13.1.1), nor does one that is no version
_VERSION = re.compile(r'(?<!W/)"([1-9][0-9]{0,18})"')


def expected(request: Request) -> Expect | None:
    """What must be there for the write to be made. Raises ValidationFailed."""
    match: str | None = request.environ.get("HTTP_IF_MATCH")
    none_match: str | None = request.environ.get("HTTP_IF_NONE_MATCH")
    if match is not None and none_match is not None:
        raise ValidationFailed.at("If-None-Match", "give If-Match or If-None-Match, not both")
    if none_match is not None:
        if none_match.strip() != "*":
            raise ValidationFailed.at(
                "If-None-Match", "must be * on a write: only if there is nothing under this key"
            )
        return Expect(present=False)
    if match is None:
        return None
    if match.strip() == "*":
        return Expect(present=True)
    if not _TAGS.fullmatch(match.strip()):
        raise ValidationFailed.at(
            "If-Match", 'must be a version in quotes, as in "17", several with commas, or *'
        )
    return Expect(frozenset(int(version) for version in _VERSION.findall(match)))
