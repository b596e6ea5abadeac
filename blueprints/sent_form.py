"""Forms as they come: a body that cannot be read to its end is the sender's fault."""

from __future__ import annotations

from flask import Request
from werkzeug.datastructures import ImmutableMultiDict
from werkzeug.exceptions import BadRequest, HTTPException


def read_form(asked: Request) -> ImmutableMultiDict[str, str]:
    """The form of a request; BadRequest or RequestEntityTooLarge where it cannot be read."""
    try:
        return asked.form
    except HTTPException:
        raise
    except Exception as error:  # of the server's own classes: wrong chunks, a lost connection
        raise BadRequest("The body could not be read to its end.") from error
