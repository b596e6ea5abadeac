"""A verdict in words, for the operator of the machine only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from restante.egress.policy import Policy, Purpose
from restante.egress.ranges import parse_address, special
from restante.egress.refusal import CallFailed, EgressRefused, Reason
from restante.egress.resolve import Resolver
from restante.egress.url import Target, parse_url
from restante.egress.verdict import judge_address, judge_answers, judge_text

_REMEDIES = {
    Reason.PORT: "RESTANTE_EGRESS_ALLOW={} would allow it, RESTANTE_EGRESS_PORTS the port everywhere",
    Reason.LITERAL: "RESTANTE_EGRESS_ALLOW={} would allow it",
    Reason.SINGLE_LABEL: "RESTANTE_EGRESS_ALLOW={} would allow it",
    Reason.PRIVATE_NAME: "RESTANTE_EGRESS_ALLOW={} would allow it",
    Reason.NOT_PUBLIC: "RESTANTE_EGRESS_ALLOW={} would allow it, or its network there",
    Reason.METADATA: "no setting allows it",
    Reason.OWN: "no setting allows it",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One address of the host: `refused` has the reason, None where it may be dialled."""

    address: str
    refused: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a URL may be called or not. `reason` is a Reason or a Cause, None where it may be called."""

    url: str
    allowed: bool
    reason: str | None
    why: str
    remedy: str | None = None
    addresses: tuple[Finding, ...] = ()


def explain(
    url: str, policy: Policy, *, resolver: Resolver, purpose: Purpose, seconds: float
) -> Explanation:
    """The verdict on a URL as it would be now, with every address of its host."""
    findings: tuple[Finding, ...] = ()
    target: Target | None = None
    try:
        target = parse_url(url)
        url = target.url
        judge_text(url, policy, purpose=purpose)
        answers = [target.host]
        if target.literal is None:
            answers = list(dict.fromkeys(resolver(target.host, target.port, seconds)))
        findings = tuple(_finding(text, target, policy, purpose=purpose) for text in answers)
        judge_answers(target, answers, policy, purpose=purpose)
    except EgressRefused as error:
        remedy = None
        if target is not None:
            remedy = _remedy(
                error.reason, target, policy, resolver, purpose=purpose, seconds=seconds
            )
        return Explanation(
            url=url,
            allowed=False,
            reason=error.reason,
            why=error.note,
            remedy=remedy,
            addresses=findings,
        )
    except CallFailed as error:
        return Explanation(
            url=url, allowed=False, reason=error.cause, why=error.note, addresses=findings
        )
    why = "the operator names it" if policy.is_named(target, purpose) else "nothing refuses it"
    return Explanation(url=url, allowed=True, reason=None, why=why, addresses=findings)


def _finding(text: str, target: Target, policy: Policy, *, purpose: Purpose) -> Finding:
    address = parse_address(text)
    if address is None:
        return Finding(text, Reason.NOT_PUBLIC, "no address")
    try:
        judge_address(address, target, policy, purpose=purpose)
    except EgressRefused as error:
        return Finding(text, error.reason, error.note)
    found, network = special(address), policy.allowance.network_of(address)
    if found is None:
        return Finding(text, None, "public")
    by = "the operator names the host" if network is None else f"{network} is allowed"
    return Finding(text, None, f"{found.purpose} ({found.source}), and {by}")


def _remedy(
    reason: Reason,
    target: Target,
    policy: Policy,
    resolver: Resolver,
    *,
    purpose: Purpose,
    seconds: float,
) -> str | None:
    """What would allow it; an entry that would not, since something else refuses it too, is not named."""
    if reason is Reason.NOT_PUBLIC and target.literal is not None:
        reason = Reason.LITERAL  # an allowed network would not lift the ban on those
    remedy = _REMEDIES.get(reason)
    if remedy is None or "{}" not in remedy:
        return remedy
    hosts = policy.allowance.hosts | {(target.host, target.port)}
    lifted = replace(policy, allowance=replace(policy.allowance, hosts=hosts))
    try:
        judge_text(target.url, lifted, purpose=purpose)
        if target.literal is None:
            answers = resolver(target.host, target.port, seconds)
            judge_answers(target, answers, lifted, purpose=purpose)
    except EgressRefused as error:
        return f"no setting allows it: {error.note}"
    except CallFailed:
        pass  # it leads nowhere yet
    name = f"[{target.host}]" if ":" in target.host else target.host
    return remedy.format(f"{name}:{target.port}")
