"""`python -m workers`: the maintenance, on the settings of the environment."""

from __future__ import annotations

from config import load_settings
from workers.maintain import run_maintenance

run_maintenance(load_settings(), once=False)
