"""How busy the machine was while something was measured."""

from __future__ import annotations

import os
import time
from pathlib import Path


def _ticks() -> tuple[int, int, int]:
    """(busy, stolen, all) since the machine began, over all processors."""
    user, nice, system, idle, wait, irq, soft, stolen = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    busy = user + nice + system + irq + soft
    return busy, stolen, busy + stolen + idle + wait


class Load:
    """From its making to `told`."""

    def __init__(self) -> None:
        self._began = _ticks()

    def told(self) -> dict[str, float]:
        """Busy and stolen processor time in percent of the machine, and the load average."""
        (b0, s0, a0), (b1, s1, a1) = self._began, _ticks()
        whole = max(1, a1 - a0)
        return {
            "busy_percent": round(100 * (b1 - b0) / whole, 1),
            "stolen_percent": round(100 * (s1 - s0) / whole, 1),
            "load_average": round(os.getloadavg()[0], 1),
        }


def processor_seconds(pid: int) -> float:
    """Processor time of a process and its children so far, to the nanosecond; 0 for one that is gone."""
    total = 0.0
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0]) / 1e9
            total += sum(map(processor_seconds, map(int, (task / "children").read_text().split())))
    except (FileNotFoundError, ProcessLookupError):
        return total
    return total


def wait_for_quiet(most_seconds: float, *, percent: float = 15.0) -> None:
    """Return once the machine was calm for a tenth of a second, or when the time is over."""
    ends = time.monotonic() + most_seconds
    while time.monotonic() < ends:
        busy, _, everything = _ticks()
        time.sleep(0.1)
        then, _, all_then = _ticks()
        if 100 * (then - busy) <= percent * max(1, all_then - everything):
            return
