"""A challenge: what is posted, and whether the answer is right. Pure but for its randomness."""

from __future__ import annotations

import hmac
import json
import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from restante.egress.client import Answer
from restante.inbox.envelope import instant
from restante.storage.ids import Prefix, encode_id, new_id
from restante.webhooks.secrets import response_to

CALL_SECONDS = 5.0
"""So long a receiver may take, from the lookup of its name to the last byte."""
LIFE = timedelta(seconds=60)
"""Until then the challenge may be judged; who began it and is not back by then never comes."""


class Reason(StrEnum):
    """Why a challenge failed, as its agent is told. All that the network does is one reason."""

    UNREACHABLE = "unreachable"
    STATUS = "status"
    BODY = "body"
    SIGNATURE = "signature"


@dataclass(frozen=True, slots=True)
class Challenge:
    """One that is to be posted. `secret`: the newest, with which the receiver answers."""

    callback_id: bytes
    id: bytes
    url: str
    ends_at: datetime
    secret: str = field(repr=False)
    token: str = field(repr=False)

    @property
    def body(self) -> bytes:
        """What is posted."""
        told = {
            "type": "callback_challenge",
            "callback_id": encode_id(Prefix.CALLBACK, self.callback_id),
            "challenge": self.token,
            "expires_at": instant(self.ends_at),
        }
        return json.dumps(told).encode()


def new_challenge(callback_id: bytes, *, url: str, secret: str, now: datetime) -> Challenge:
    """Another one; its token is good for itself alone."""
    return Challenge(
        callback_id,
        new_id(),
        url,
        now + LIFE,
        secret=secret,
        token=secrets.token_urlsafe(32),
    )


def judge(challenge: Challenge, answer: Answer) -> Reason | None:
    """Why the answer is not right; None: it is. Only 200 counts, and members beside ours are ignored."""
    if answer.status != 200:
        return Reason.STATUS
    if answer.truncated:
        return Reason.BODY
    try:
        told = json.loads(answer.body)
        response = told["challenge_response"]
    except (ValueError, RecursionError, TypeError, KeyError):
        return Reason.BODY
    if not isinstance(told, dict) or not isinstance(response, str):
        return Reason.BODY
    right = response_to(challenge.secret, challenge.token)
    same = hmac.compare_digest(response.encode("utf-8", "surrogatepass"), right.encode())
    return None if same else Reason.SIGNATURE
