"""``python -m restante_agent``."""

from __future__ import annotations

from restante_agent.cli.main import main

main()
