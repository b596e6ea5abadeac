"""`restante egress`: what may be called out to, for the operator of the machine."""

from __future__ import annotations

import dataclasses

import click

from command_line import as_json, refusing, say
from config import load_settings
from restante.egress.explain import Explanation, explain
from restante.egress.policy import Purpose
from workers.egress import system_resolver

LOOKUP_SECONDS = 5.0
ADDRESSES_SHOWN = 10


@click.group()
def egress() -> None:
    """Calls to the outside: webhooks and the identity provider."""


@egress.command("check")
@click.argument("url")
@click.option("--oidc", is_flag=True, help="As for the identity provider, not for a webhook.")
@as_json
@click.pass_context
@refusing
def egress_check(context: click.Context, url: str, *, oidc: bool, as_json: bool) -> None:
    """Say whether URL may be called and why, without calling it; exit 1 where it may not."""
    explanation = explain(
        url,
        load_settings().egress_policy,
        resolver=system_resolver(),
        purpose=Purpose.OIDC if oidc else Purpose.CALLBACK,
        seconds=LOOKUP_SECONDS,
    )
    say(dataclasses.asdict(explanation), _text(explanation), as_json=as_json)
    context.exit(0 if explanation.allowed else 1)


def _text(told: Explanation) -> str:
    word = "Allowed" if told.allowed else f"Refused ({told.reason})"
    lines = [f"{word}: {told.why}."]
    worst = sorted(told.addresses, key=lambda found: found.refused is None)
    lines += [
        f"  {found.address}: {'refused, ' if found.refused else ''}{found.why}"
        for found in worst[:ADDRESSES_SHOWN]
    ]
    if len(worst) > ADDRESSES_SHOWN:
        lines.append(f"  and {len(worst) - ADDRESSES_SHOWN} more")
    if told.remedy:
        lines.append(f"{told.remedy[0].upper()}{told.remedy[1:]}.")
    return "\n".join(lines)
