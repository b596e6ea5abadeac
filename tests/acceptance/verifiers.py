"""The snippets of docs/webhooks.md, by which a receiver verifies with other people's libraries."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT, blocks
from tests.support.npm import installed, node

PAGE = ROOT / "docs" / "webhooks.md"
HERE = ROOT / "tests" / "support" / "webhook_verifiers"
NPM = "webhook-verifiers-1"  # another one when the lock changes


@dataclass(frozen=True, slots=True)
class Arrived:
    """A request as its receiver got it."""

    url: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"


def snippets(language: str) -> list[str]:
    """The page's programs in a language, in order."""
    return [block.text for block in blocks(PAGE) if block.language == language]


def in_python() -> dict[str, Any]:
    """What the page's Python snippets define."""
    names: dict[str, Any] = {}
    for text in snippets("python"):
        exec(compile(text, str(PAGE), "exec"), names)  # noqa: S102 - our own page
    return names


def in_javascript(
    folder: Path, jwks: Mapping[str, Any], cases: Sequence[tuple[Arrived, str]]
) -> list[dict[str, str]]:
    """What the page's JavaScript says of requests, each with a secret: `{secret, key}`, `good` or why not.

    Raises Unavailable where node or the packages cannot be had.
    """
    program, packages = node(), installed(HERE, NPM)
    (folder / "node_modules").symlink_to(packages / "node_modules")
    (folder / "verifiers.mjs").write_text("\n".join(snippets("js")))
    (folder / "verdicts.mjs").write_text((HERE / "verdicts.mjs").read_text())
    requests = [
        {
            "method": one.method,
            "url": one.url,
            "headers": dict(one.headers),
            "body": base64.b64encode(one.body).decode(),
            "secret": secret,
        }
        for one, secret in cases
    ]
    done = subprocess.run(
        [program, folder / "verdicts.mjs"],
        input=json.dumps({"jwks": jwks, "requests": requests}),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    verdicts: list[dict[str, str]] = json.loads(done.stdout)
    return verdicts


def altered(one: Arrived) -> dict[str, Arrived]:
    """The same request with something of it changed that the key's signature covers."""
    return {
        "body": replace(one, body=one.body + b" "),
        "path": replace(one, url=one.url.replace("/hook", "/hooks")),
        "query": replace(one, url=one.url.replace("restante", "other")),
        "host": replace(one, url=one.url.replace("localhost", "elsewhere.example")),
        "method": replace(one, method="PUT"),
        "id": replace(one, headers={**one.headers, "webhook-id": "evt_0"}),
    }
