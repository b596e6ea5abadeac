"""CloudEvents 1.0 in the JSON format: a publication that is one, and an event told as one. Pure.

A CloudEvent that is published is its event's payload, whole: its data byte for byte, its attributes by value.
Attributes that begin with `restante` are not its own: they say how it is published, and what the server
knows of it when it leaves. (CloudEvents 1.0.2; JSON Event Format 1.0.2; the extensions Correlation,
Partitioning and Expiry Time.)
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import orjson

MEDIA_TYPE = "application/cloudevents+json"
SPECVERSION = "1.0"
OURS = "restante"
REQUIRED = ("specversion", "id", "source", "type")
DATA = ("data", "data_base64")

PUBLISHED_AS = {
    "type": "type",
    "correlationid": "correlation_id",
    "causationid": "causation_id",
    "partitionkey": "ordering_key",
    "expirytime": "expires_at",
    "restanteproject": "project",
    "restanterecipients": "recipients",
    "restantepriority": "priority",
    "restantereplyto": "reply_to",
    "restantemaxattempts": "max_attempts",
}
"""Attributes, and the members of a publication that they are."""
TOLD_AS = {
    "restanteevent": "event_id",
    "restanteproject": "project",
    "restantestatus": "status",
    "restanteattempts": "attempts",
    "restantemaxattempts": "max_attempts",
    "restantepriority": "priority",
    "restantereplyto": "reply_to",
    "restanteleaseends": "claim_expires_at",
    "restanteleasems": "lease_remaining_ms",
}
_IN_DIGITS = {
    "restantesequence": "sequence_number",
    "restanteordering": "ordering_sequence",
    "restantegeneration": "claim_generation",
    "restantefence": "fence",
}
"""Told as text: an Integer of CloudEvents has 32 bits."""
_WRAPPED_AS = {
    "time": "created_at",
    "correlationid": "correlation_id",
    "causationid": "causation_id",
    "partitionkey": "ordering_key",
    "expirytime": "expires_at",
    "traceparent": "traceparent",
}
_NAME = re.compile(r"[a-z0-9]{1,64}")
_INTEGERS = range(-(2**31), 2**31)


def faults(event: Mapping[str, Any]) -> list[dict[str, str]]:
    """What is wrong with it as a CloudEvent: `pointer` and `detail` of each. Null says what absence says."""
    found = [(name, fault) for name in REQUIRED if (fault := _required(event.get(name)))]
    if event.get("specversion") not in (None, "", SPECVERSION):
        found.append(("specversion", f'must be "{SPECVERSION}"'))
    if all(event.get(name) is not None for name in DATA):
        found.append(("data_base64", "comes instead of data, not with it"))
    for name, value in event.items():
        if name not in REQUIRED and name != "data" and value is not None:
            fault = _attribute(name, value)
            if fault is not None:
                found.append((name, fault))
    return [{"pointer": f"/{_escaped(name)}", "detail": detail} for name, detail in found]


def _required(value: Any) -> str | None:
    if value is None:
        return "is required"
    return None if isinstance(value, str) and value else "must be a string that is not empty"


def _attribute(name: str, value: Any) -> str | None:
    if not _NAME.fullmatch(name) and name != "data_base64":
        return "must be named in lower-case letters and digits, at most 64"
    if name.startswith(OURS) and name not in PUBLISHED_AS:
        return "is not known here: remove it"
    if isinstance(value, bool) or (isinstance(value, str) and value):
        return None
    if isinstance(value, int) and value in _INTEGERS:
        return None
    return "must be a string that is not empty, an integer of 32 bits, or true or false"


def publication(event: Mapping[str, Any]) -> dict[str, Any]:
    """The members of a publication but for its payload.

    `source` and `id` are its idempotency key: a producer that sends it again publishes nothing new.
    """
    members = {
        member: event[name] for name, member in PUBLISHED_AS.items() if event.get(name) is not None
    }
    if isinstance(members.get("recipients"), str):
        members["recipients"] = [one.strip() for one in members["recipients"].split(",")]
    told = orjson.dumps([event["source"], event["id"]])
    return {**members, "idempotency_key": f"cloudevent-{hashlib.sha256(told).hexdigest()}"}


def payload(event: Mapping[str, Any], data: bytes | None) -> bytes:
    """The CloudEvent itself, without what says how it is published. `data`: the JSON text of that member."""
    own = {
        name: value
        for name, value in event.items()
        if value is not None and name != "data" and not name.startswith(OURS)
    }
    text = orjson.dumps(own)
    return text if data is None else text[:-1] + b',"data":' + data + b"}"


def attribute_of(pointer: str) -> str:
    """Where a fault of a publication stands in the CloudEvent that it was."""
    head, _, rest = pointer.removeprefix("/").partition("/")
    names = {member: name for name, member in PUBLISHED_AS.items()}
    # recipients are one attribute
    return f"/{names.get(head, head)}" + (f"/{rest}" if rest and head != "recipients" else "")


def leaving(
    event: Mapping[str, Any], content: Any, text: bytes | None, *, public_url: str
) -> bytes:
    """An event as a CloudEvent. `content` is its payload's value, `text` its JSON; None: it has none.

    One that came as a CloudEvent leaves as that one; any other is the data of one whose source is its
    producer. What the server knows stands beside it, and nothing in a payload can say it.
    """
    known: dict[str, Any] = {name: event.get(member) for name, member in TOLD_AS.items()}
    for name, member in _IN_DIGITS.items():
        known[name] = None if event.get(member) is None else str(event[member])
    producer = event["producer"]
    known["restantesender"], known["restantesigned"] = producer["id"], producer["signed"]
    if text is not None and came_as_one(content):
        return _dumped(known)[:-1] + b"," + text[text.index(b"{") + 1 :]
    wrapped = {
        "specversion": SPECVERSION,
        "id": event["event_id"],
        "source": f"{public_url}/{producer['id']}",
        "type": event["type"],
        **{name: event.get(member) for name, member in _WRAPPED_AS.items()},
        **known,
    }
    if text is None:
        return _dumped(wrapped)
    about = _dumped({**wrapped, "datacontenttype": "application/json"})
    return about[:-1] + b',"data":' + text + b"}"


def came_as_one(content: Any) -> bool:
    """Whether a payload is a CloudEvent that claims nothing of ours."""
    return (
        isinstance(content, dict)
        and content.get("specversion") == SPECVERSION
        and not any(name.startswith(OURS) for name in content)
        and not faults(content)
    )


def _dumped(attributes: dict[str, Any]) -> bytes:
    return orjson.dumps({name: value for name, value in attributes.items() if value is not None})


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
