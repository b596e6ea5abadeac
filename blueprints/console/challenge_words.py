"""What a challenge saw of a receiver, to check line by line; never an address or an answer. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from blueprints.console.lengths import length
from restante.webhooks.callbacks import AddressClass, Callback
from restante.webhooks.challenge import CALL_SECONDS

SOON = timedelta(days=14)
REASONS = {
    "unreachable": "no connection, or no answer in time. The name, the address, TLS and the network all "
    "read alike here.",
    "status": "it answered, and not with 200.",
    "body": "it answered 200, and the body held no challenge_response.",
    "signature": "its challenge_response was wrong: it has another secret than this server.",
}
_ADDRESSES = {
    AddressClass.PUBLIC_IPV4: "every answer of its name is public unicast; the vetted one was dialled, IPv4",
    AddressClass.PUBLIC_IPV6: "every answer of its name is public unicast; the vetted one was dialled, IPv6",
    AddressClass.ALLOWED: "in a network that RESTANTE_EGRESS_ALLOW opens on this server",
}


@dataclass(frozen=True, slots=True)
class Line:
    """`icon`: check, warning, info or close; `strong`: said first, in bold; `names`: text of others."""

    icon: str
    title: str
    text: str = ""
    strong: str = ""
    names: tuple[str, ...] = ()


def seen_lines(found: Callback, now: datetime) -> list[Line]:
    """What the last right answer came from; first, why the last challenge failed, if it did."""
    return list(_lines(found, now))


def _lines(found: Callback, now: datetime) -> Iterator[Line]:
    if found.challenge_reason is not None:
        reason = REASONS.get(found.challenge_reason, "")
        yield Line("close", "Last challenge", reason, strong=f"{found.challenge_reason}: ")
    seen = found.seen
    if seen is None:
        return
    took = f"right HMAC of our random challenge, after {seen.latency_ms:,}\N{NO-BREAK SPACE}ms"
    yield Line("check", "Proof of secret", f"{took} of {CALL_SECONDS:g}\N{NO-BREAK SPACE}s")
    allowed = seen.address is AddressClass.ALLOWED
    yield Line("info" if allowed else "check", "Address", _ADDRESSES[seen.address])
    if seen.certificate_names:
        yield Line("check", "Certificate", names=seen.certificate_names[:6])
    if seen.certificate_expires_at is not None:
        yield _expiry(seen.certificate_expires_at, now)
    yield Line("check", "Answer", "200, no redirect asked for")


def _expiry(ends_at: datetime, now: datetime) -> Line:
    day = f"{ends_at.day}\N{NO-BREAK SPACE}{ends_at:%b %Y}"
    if ends_at <= now:
        text = f", on {day}; deliveries fail until it is renewed"
        return Line("close", "Certificate expiry", text, strong="has expired")
    if ends_at - now < SOON:
        text = f", {day}; deliveries fail from then unless it is renewed"
        return Line("warning", "Certificate expiry", text, strong=f"in {length(ends_at - now)}")
    return Line("check", "Certificate expiry", day)
