"""The signing key between runs and beside other processes of the agent: one file, mode 0600."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from dataclasses import asdict
from pathlib import Path

from restante_agent.wire.signing import Minted

log = logging.getLogger("restante_agent")


class SigningFile:
    """An agent may have four live keys, so those who start often, or many at once, share one here."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Minted | None:
        """The key that was kept last, good or not; None where there is none that can be read."""
        try:
            if self.path.stat().st_mode & 0o077:
                log.warning("%s can be read by others: it is not used", self.path)
                return None
            return Minted(**json.loads(self.path.read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, key: Minted) -> None:
        """Keep it, in place of the one before. Where that cannot be done, it is kept by nobody."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self.path.parent)  # mode 0600
            with os.fdopen(handle, "w") as file:
                json.dump(asdict(key), file)
            Path(name).replace(self.path)
        except OSError as error:
            log.warning("the signing key cannot be kept in %s: %s", self.path, error)
