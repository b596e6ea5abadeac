"""Real identity providers as processes on loopback: the npm package oidc-provider, and oidc-provider-mock.

The npm one is installed by npm into the tests' cache, by the lock beside it, whose hashes npm checks.
"""

from __future__ import annotations

import os
import sys
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.npm import installed, node
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.waiting import wait_until

CLIENT_ID, CLIENT_SECRET = "restante", "a-client-secret-for-tests"
HERE = Path(__file__).with_name("oidc_provider")
VERSION = "9.13.3"
START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RunningProvider:
    """One that answers."""

    issuer: str
    process: Process

    @property
    def settings(self) -> dict[str, str]:
        """What has Restante trust it."""
        return {
            "RESTANTE_OIDC_ISSUER": self.issuer,
            "RESTANTE_OIDC_CLIENT_ID": CLIENT_ID,
            "RESTANTE_OIDC_CLIENT_SECRET": CLIENT_SECRET,
        }


def start_npm_provider(redirect_uri: str, log: Path) -> RunningProvider:
    """oidc-provider; raises Unavailable where node, npm or the package cannot be had."""
    program, folder = node(), installed(HERE, f"oidc-provider-{VERSION}")
    port = free_port()
    words: list[str | Path] = [program, HERE / "provider.mjs", str(port), redirect_uri]
    return _started(words, port, log, cwd=folder)


def start_mock_provider(claims: Sequence[str], log: Path) -> RunningProvider:
    """oidc-provider-mock, with predefined people: a JSON object each."""
    port = free_port()
    people = [word for one in claims for word in ("--user-claims", one)]
    words = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port), *people]
    return _started(words, port, log)


def _started(
    words: Sequence[str | Path], port: int, log: Path, *, cwd: Path | None = None
) -> RunningProvider:
    environment: Mapping[str, str] = {**os.environ, "PYTHONWARNINGS": "ignore"}
    process = Process(words, log=log, env=environment, cwd=cwd)
    issuer = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        if not process.is_running():
            raise AssertionError(f"the provider ended; its log closes on:\n{process.tail()}")
        try:
            with urllib.request.urlopen(
                f"{issuer}/.well-known/openid-configuration", timeout=5
            ) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    wait_until(answers, f"{issuer} to answer", timeout_seconds=START_SECONDS)
    return RunningProvider(issuer, process)
