"""What agents run for each event: keep the body, and say so. `effect.py FOLDER`, the event on stdin.

The effect is named after the event, so that a second run finds it done; runs.jsonl tells of each run.
It takes a moment, as work does, so that some are killed in the middle of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

RUNS = "runs.jsonl"
EFFECTS = "effects"
LONGEST_SECONDS = 0.1


def canonical(value: Any) -> bytes:
    """JSON with one spelling: sorted members, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def main() -> None:
    folder = Path(sys.argv[1])
    event = json.load(sys.stdin)
    began = time.monotonic_ns()
    text = canonical(event["payload"])
    with (folder / RUNS).open("ab", buffering=0) as runs:
        told = {"event": event["event_id"], "generation": event["claim_generation"], "at": began}
        runs.write(json.dumps(told).encode() + b"\n")
    time.sleep(random.uniform(0, LONGEST_SECONDS))
    effect = folder / EFFECTS / event["event_id"]
    draft = effect.with_name(f".{effect.name}.{os.getpid()}")
    draft.write_bytes(text)
    try:
        os.link(draft, effect)  # whole, or not at all, and never a second time
        first = True
    except FileExistsError:
        first = False
    draft.unlink()
    print(json.dumps({"sha256": hashlib.sha256(text).hexdigest(), "first": first}))  # noqa: T201 - the result


if __name__ == "__main__":
    main()
