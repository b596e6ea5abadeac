"""Where an agent keeps its state on this machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

import platformdirs


def state_directory(base_url: str, agent_id: str, base: Path | None = None) -> Path:
    """One directory per server and agent, below `base` or the user's state directory.

    Two servers may know the same agent id (a restored copy), so the server is part of the name.
    """
    server = hashlib.sha256(base_url.encode()).hexdigest()[:12]
    return state_root(base) / f"{agent_id}-{server}"


def state_root(base: Path | None = None) -> Path:
    return base if base is not None else Path(platformdirs.user_state_dir("restante-agent"))
