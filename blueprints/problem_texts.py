"""What the page of each problem says: what happened, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """`members`: those that this problem has besides everybody's, with values as an example."""

    happened: str
    remedy: str
    members: dict[str, Any] = field(default_factory=dict)


TEXTS: dict[str, Text] = {
    "malformed-json": Text(
        "The body could not be read as one JSON object in UTF-8. Nothing was done. Also refused: a name "
        "that stands twice in one object, NaN and Infinity, half of a surrogate pair, payloads nested "
        "deeper than 64 levels.",
        "Send a JSON object; where there is nothing to say, send {}. `detail` names the place.",
    ),
    "bad-request": Text(
        "The request is not HTTP as RFC 9112 has it: its first line, a field, the length of its body or a "
        "chunk. Or it names no host, or says its length twice. The server hung up and did nothing.",
        "Send it with an HTTP library instead of by hand. Where one did send it, a proxy in between may have "
        "altered it: the server's log has the reason.",
    ),
    "uri-too-long": Text(
        "The first line of the request, which has its method and address, is longer than 4,094 bytes. "
        "Nothing was done.",
        "Put what is long into the body, or ask in several requests.",
    ),
    "header-fields-too-large": Text(
        "The head of the request has more fields, or longer ones, than the server reads. Nothing was done.",
        "Leave out what the server has no use for; cookies of other sites at the same host are the usual "
        "reason.",
    ),
    "transfer-coding-unknown": Text(
        "The body was to come in a transfer coding that the server does not know. Nothing was done.",
        "Send it with Content-Length, or with `Transfer-Encoding: chunked` and no other coding.",
    ),
    "ambiguous-credentials": Text(
        "The request proves who sends it in more than one way, so it is not clear who that is.",
        "Send one Authorization field with one bearer token, and no token in query or form. A stream is "
        "opened with a token or with a ticket, not with both.",
    ),
    "page-token-invalid": Text(
        "The page token was given out for another list, or was altered.",
        "Start again without page_token, and pass next_page_token on as it is, with the same parameters.",
    ),
    "unauthenticated": Text(
        "There is no access token in the request, or it does not hold: it has run out, was made for "
        "another server, or its agent, service or credential has been disabled, revoked or removed. A ticket "
        "for a stream is good once, for 30 s, and as long as the token it was got with.",
        "Get a new token at /oauth/token, or a new ticket, and repeat the request. If that is refused as "
        "well, ask whoever administers the tenant.",
    ),
    "insufficient-scope": Text(
        "The token is good, but none of its scopes lets its bearer do this, in this project or at all.",
        "`required_scope` names what is needed, and `WWW-Authenticate` all that are wanting. Ask for a token "
        "with them (`scope` of `POST /oauth/token`); if that is `invalid_scope`, they are not granted: ask "
        "whoever administers the tenant for the grant.",
        {"required_scope": "agent:main:claim"},
    ),
    "not-found": Text(
        "There is nothing of that name here. What belongs to another tenant, to another agent or to a "
        "project that the token does not cover answers exactly like what does not exist.",
        "Check the address and the id. If both are right, check which agent the token is for, and its "
        "scopes.",
    ),
    "method-not-allowed": Text(
        "The address exists, and takes other methods only.",
        "Use one of the methods that the Allow field of the answer names.",
    ),
    "stale-claim": Text(
        "The claim named is not the event's current one, or its lease is over. Nothing was changed: "
        "somebody else may hold the event, or have settled it. `reason` says what happened, "
        "`current_generation` how often the event has been claimed.",
        "Stop working on the event. Where `reason` is completed, cancelled, quarantined or expired, it has "
        "ended: drop it. Otherwise it comes back: claim again. Renew before half of the lease is gone.",
        {"reason": "reclaimed", "current_generation": 2},
    ),
    "right-missing": Text(
        "An operator is signed in whose role does not allow this. Nothing was changed.",
        "Ask a tenant admin; docs/roles.md says which role may do what.",
    ),
    "token-too-old": Text(
        "A signing key is made or registered only with an access token of the last 60 s.",
        "Get a new access token and repeat the request at once.",
    ),
    "too-many-keys": Text(
        "There are as many live signing keys, client secrets or public keys as there may be, or 10,000 keys "
        "in the agent's memory of this project. `detail` says which.",
        "Delete or revoke one. A signing key also goes when it has run out.",
    ),
    "turn-conflict": Text(
        "A part of the turn could not be done as it was said, so none of it was: `failures` says which part, "
        "which of its list, and why, as the problem that this would have been alone.",
        "Look at `failures`. What they say of a claim is as for stale-claim: stop working on that event. For "
        "a version-conflict read the key again, and take the turn anew with another Idempotency-Key.",
        {
            "failures": [
                {
                    "part": "memory",
                    "index": 0,
                    "problem": {
                        "type": "/problems/version-conflict",
                        "title": "The version is another one",
                        "status": 412,
                        "detail": "The key is at another version than the one named: nothing was written.",
                        "current_version": 17,
                    },
                }
            ]
        },
    ),
    "version-conflict": Text(
        "The key is at another version than If-Match, If-None-Match or `if_version` names. Nothing was "
        "changed. `current_version` is the present one; null: there is nothing under this key.",
        "Read the key again, and repeat the write with the version you get, if it is still right. After a "
        "lost answer it may be your own write that you find.",
        {"current_version": 17},
    ),
    "event-final": Text(
        "The event is completed, cancelled or expired, and stays that.",
        "There is nothing left to cancel. To take back what it did, publish another event.",
    ),
    "callback-conflict": Text(
        "The callback is in a state in which this cannot be done to it, its agent has as many as it may, "
        "another request changed it meanwhile, or another active callback with mode `deliver` has the "
        "agent's events of one of its projects: then `callback_id` names that one. Nothing was changed.",
        "`detail` says what can be done instead. Where another one delivers already, suspend or remove that "
        "one first.",
        {"callback_status": "rejected"},
    ),
    "callback-refused": Text(
        "Judged by its text alone, the URL is none that this server calls. Nobody was called.",
        "Take an https URL with a public host name, on port 443 or 8443, without user or fragment.",
    ),
    "challenge-failed": Text(
        "The receiver was challenged, or its name was looked up, and that did not end well. `reason` is "
        "`unreachable` (whatever the network did: name, address, connection, certificate or time), `status` "
        "(not 200), `body` (no JSON object with `challenge_response`, or too long) or `signature` (the "
        "response is not the HMAC of this challenge with the newest secret). The callback is there under "
        "its `callback_id`; nothing goes out for it.",
        "Mend the receiver, and have it challenged again: POST …/callbacks/{callback_id}/challenge.",
        {"reason": "signature", "callback_id": "cb_0198c5a1f3f67d4082a4b6c8dae1f359"},
    ),
    "idempotency-in-flight": Text(
        "The first request with this Idempotency-Key is still running.",
        "Repeat the request after Retry-After: it is then answered with what the first one made.",
    ),
    "cursor-gone": Text(
        "The events after this cursor can no longer be told in full: they went by retention, or the inbox "
        "has begun a new epoch after its database was restored. `lost` says what was missed, where that is "
        "known. Of a memory's revision: what was deleted after it is no longer known; `oldest_revision` and "
        "`memory_revision` then say from where on it is.",
        "Fetch `state_url` once and go on from the cursor it gives. Never repeat the old cursor.",
        {
            "reason": "retention",
            "oldest_cursor": 900,
            "head": 1045,
            "epoch": "0198c5a1f3e87c2493b5d7f9012a4c6e",
            "lost": {"from": 801, "to": 900, "count": 100, "unsettled": 2},
            "state_url": "/api/v1/agents/agt_0198c5a1f3de7c51a0b2c4d6e8f01234/state",
        },
    ),
    "payload-too-large": Text(
        "The body, one payload, or all payloads times their recipients have more bytes than this server "
        "takes. Nothing was written.",
        "Put what is large where it can be fetched and publish its address; or spread the call over several.",
        {"limit_bytes": 262144},
    ),
    "unsupported-media-type": Text(
        "The body was not announced as JSON.",
        "Send Content-Type: application/json, the body in UTF-8 and without a Content-Encoding.",
    ),
    "validation-error": Text(
        "The request was read, and says something that does not stand: a member is missing, unknown, of "
        "another type or out of range. Nothing was changed, and no value was bent to fit.",
        "`errors` lists every fault: `pointer` leads to it in the body (RFC 6901) or names the parameter, "
        "`detail` says what would do.",
        {
            "errors": [
                {"pointer": "/lease_seconds", "detail": "must be less than or equal to 43200"}
            ]
        },
    ),
    "recipient-refused": Text(
        "One of the agents named is unknown, removed, of another tenant, or does not have the project; "
        "which of these is not told. Nothing was written for any recipient.",
        "`recipients` names those refused. Leave them out, or have them granted `read` or `claim` for the "
        "project.",
        {"recipients": ["agt_0198c5a1f3e17b02b1c3d5e7f9012345"]},
    ),
    "idempotency-key-reused": Text(
        "This idempotency key was used before, with another request.",
        "Take a new key for every new request. Repeat a key only with the same method, address and body.",
    ),
    "rate-limited": Text(
        "More requests came than this server takes in that time.",
        "Wait as long as Retry-After says, in seconds, and then a little longer, at random.",
    ),
    "inbox-full": Text(
        "A recipient, or the tenant, has as many unsettled events as may wait. Nothing was written for any "
        "recipient.",
        "Slow down and repeat later. If its agent is gone for good, have it disabled; if it is slow, have "
        "it claim more.",
        {"recipients": ["agt_0198c5a1f3de7c51a0b2c4d6e8f01234"]},
    ),
    "internal-error": Text(
        "Something went wrong inside the server. The request may have been right.",
        "Repeat it with the same key, claim_id or generation. If it fails again, tell the operator the "
        "request_id: the log has the rest under it.",
    ),
    "overloaded": Text(
        "The server could not begin: no database connection was free within a second, or the database did "
        "not answer. Nothing was done.",
        "Repeat after Retry-After, in seconds.",
    ),
    "outcome-unknown": Text(
        "The connection to the database broke while it committed, so it is not known whether this was done.",
        "Repeat the request with the same Idempotency-Key, claim_id or claim_generation: if it was done, "
        "you get the same answer again.",
    ),
}
