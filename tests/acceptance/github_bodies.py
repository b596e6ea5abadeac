"""Real webhook bodies: the examples of the npm package @octokit/webhooks-examples, fetched when needed.

They are kept in the tests' cache and not in the repository. What arrives must have the hash below.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.acceptance.effect import canonical
from tests.support.debian import cache
from tests.support.unavailable import Unavailable, run

PACKAGE = "@octokit/webhooks-examples"
VERSION = "7.6.1"
INTEGRITY = "sha512-De6U3XB6O3DtCa7bKgCMzTHdeopqqZ6SNivMYJnK65ierKL1AnNIA0tkRYCRS7lwGT792d+Ps1WbfHlso6MynQ=="
FILE = "octokit-webhooks-examples-7.6.1.tgz"
REGISTRY = "https://registry.npmjs.org"


class BodiesUnavailable(Unavailable):
    """The package cannot be had here; the text says why."""


@dataclass(frozen=True, slots=True)
class Body:
    """One example. `name` is the event's, as X-GitHub-Event has it; `edition` the API it is of."""

    edition: str
    name: str
    payload: Mapping[str, Any]

    @property
    def text(self) -> bytes:
        """Its canonical JSON: sorted members, no spaces, UTF-8."""
        return canonical(self.payload)

    @property
    def repository(self) -> str | None:
        """`owner/name`, for the bodies that are about one."""
        found = (self.payload.get("repository") or {}).get("full_name")
        return found if isinstance(found, str) else None


def bodies() -> list[Body]:
    """Every example of the package; raises BodiesUnavailable, saying why, where it cannot be had."""
    found = []
    with tarfile.open(fileobj=io.BytesIO(_package().read_bytes())) as archive:
        for member in archive.getmembers():
            parts = member.name.split("/")
            file = archive.extractfile(member) if parts[-1] == "index.json" else None
            if file is not None:
                found += [
                    Body(parts[-2], event["name"], example)
                    for event in json.load(file)
                    for example in event["examples"]
                ]
    return found


def _package() -> Path:
    """The package's file, fetched unless the cache has it whole."""
    kept = cache() / FILE
    if not kept.exists() or not _is_whole(kept.read_bytes()):
        with tempfile.TemporaryDirectory() as folder:
            fetched = Path(folder, FILE)
            _fetch(fetched)
            if not _is_whole(fetched.read_bytes()):
                raise BodiesUnavailable(
                    f"{PACKAGE}@{VERSION} arrived with another hash than {INTEGRITY}"
                )
            kept.parent.mkdir(parents=True, exist_ok=True)
            draft = kept.with_suffix(f".{os.getpid()}")
            shutil.copyfile(fetched, draft)
            draft.replace(kept)
    return kept


def _fetch(target: Path) -> None:
    """By npm, with the registry of its settings; where there is no npm, from npm's own registry."""
    if shutil.which("npm"):
        options = ["--pack-destination", str(target.parent), "--loglevel", "error"]
        command = ["npm", "pack", f"{PACKAGE}@{VERSION}", *options]
        try:
            run(command, failing=f"fetching {PACKAGE} by npm")
        except Unavailable as error:
            raise BodiesUnavailable(str(error)) from error
        return
    registry = os.environ.get("NPM_CONFIG_REGISTRY") or REGISTRY
    url = f"{registry.rstrip('/')}/{PACKAGE}/-/{PACKAGE.split('/')[1]}-{VERSION}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            target.write_bytes(answer.read())
    except OSError as error:
        raise BodiesUnavailable(f"{PACKAGE} cannot be fetched from {url}: {error}") from error


def _is_whole(data: bytes) -> bool:
    return "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode() == INTEGRITY
