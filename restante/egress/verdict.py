"""May this URL be called? By its text, and by every address that its name led to.

Pure: nothing is looked up here, and no answer depends on anything but the arguments.
"""

from __future__ import annotations

from collections.abc import Iterable

from restante.egress.names import is_private_name, is_single_label
from restante.egress.policy import Policy, Purpose
from restante.egress.ranges import (
    Address,
    Special,
    metadata,
    parse_address,
    special,
    unwrapped,
)
from restante.egress.refusal import CallFailed, Cause, EgressRefused, Reason
from restante.egress.url import Target, parse_url


def judge_text(url: str, policy: Policy, *, purpose: Purpose = Purpose.CALLBACK) -> Target:
    """The URL taken apart, if its text alone does not refuse it; raises EgressRefused."""
    target = parse_url(url)
    if not policy.is_secure(target, purpose):
        raise EgressRefused(Reason.SCHEME, "only https is called")
    if policy.is_own(target, purpose):
        raise EgressRefused(Reason.OWN, f"{target.host} is this installation")
    if target.literal is not None:
        judge_address(target.literal, target, policy, purpose=purpose)
    if not policy.is_named(target, purpose):
        _judge_unnamed(target, policy)
    return target


def judge_answers(
    target: Target,
    answers: Iterable[str],
    policy: Policy,
    *,
    purpose: Purpose = Purpose.CALLBACK,
) -> tuple[Address, ...]:
    """The addresses to dial, in the resolver's order, each once, if every answer will do.

    Raises EgressRefused for one that will not, CallFailed where there is none at all.
    """
    addresses: dict[Address, None] = {}
    for text in answers:
        address = parse_address(text)
        if address is None:
            raise EgressRefused(Reason.NOT_PUBLIC, f"the resolver's answer {text!r} is no address")
        judge_address(address, target, policy, purpose=purpose)
        addresses[unwrapped(address)] = None
    if not addresses:
        raise CallFailed(Cause.LOOKUP, f"{target.host} has no address")
    return tuple(addresses)


def judge_address(address: Address, target: Target, policy: Policy, *, purpose: Purpose) -> None:
    """Raise EgressRefused where this address may not be dialled for this target."""
    if found := metadata(address):
        raise EgressRefused(Reason.METADATA, _where(address, found))
    own = policy.own
    named = own.names(address) and not policy.is_issuer(target, purpose)
    if named or own.answers_here(address, target.port):
        raise EgressRefused(Reason.OWN, f"{address} is this installation")
    if policy.is_named(target, purpose) or policy.allowance.network_of(address) is not None:
        return
    if found := special(address):
        raise EgressRefused(Reason.NOT_PUBLIC, _where(address, found))


def _where(address: Address, found: Special) -> str:
    lies = "lies" if address in found.network else "carries an address that lies"
    return f"{address} {lies} in {found.network}: {found.purpose} ({found.source})"


def _judge_unnamed(target: Target, policy: Policy) -> None:
    if target.port not in policy.ports:
        ports = ", ".join(map(str, sorted(policy.ports)))
        raise EgressRefused(Reason.PORT, f"port {target.port} is none of {ports}")
    if target.literal is not None:
        raise EgressRefused(Reason.LITERAL, "the host is an address and not a name")
    if is_single_label(target.host):
        raise EgressRefused(Reason.SINGLE_LABEL, f"{target.host} has no dot")
    if is_private_name(target.host):
        raise EgressRefused(Reason.PRIVATE_NAME, f"{target.host} is no public name")
