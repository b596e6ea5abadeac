"""`python -m bench.history`: what became worse from one release to the next.

A release's file in `history` has what was promised and found, and on what; nothing of where it ran.
`python -m bench --keep-history VERSION` writes it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("history")
TOLERATED = 0.1
"""A figure that is worse by no more than this share of the older one is the day's."""

Release = Mapping[str, Any]


def keep(version: str, results: Mapping[str, Any], folder: Path = FOLDER) -> Path:
    """Write what a run has found as that of a release → the file. Raises ValueError for a bad name."""
    if not version.replace(".", "").replace("-", "").isalnum():
        raise ValueError(f"{version!r} is no version")
    folder.mkdir(exist_ok=True)
    file = folder / f"{version}.json"
    file.write_text(json.dumps(release_of(version, results), indent=1) + "\n")
    return file


def release_of(version: str, results: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of a run."""
    machine = results["machine"]
    return {
        "version": version,
        "measured_at": machine["began"],
        "machine": {name: machine[name] for name in ("processors", "memory_gib", "python")},
        "servers": {kind: told["version"] for kind, told in results["servers"].items()},
        "short": results["arguments"]["short"],
        "promises": {
            promise["what"]: {
                "figure": round(promise["figure"], 4),
                "bound": promise["bound"],
                "at_least": promise["at_least"],
                "kept": promise["kept"],
            }
            for promise in results["promises"]
        },
    }


def worse(older: Release, newer: Release) -> Iterator[str]:
    """Lines on what became worse by more than a tenth, is broken now, or was not measured again."""
    before, now = older["promises"], newer["promises"]
    for what, was in before.items():
        if what not in now:
            yield f"not measured  {what}"
            continue
        found = now[what]
        change = was["figure"] - found["figure"]
        lost = change if was["at_least"] else -change
        broken = was["kept"] and not found["kept"]
        if broken or lost > TOLERATED * abs(was["figure"]):
            word = "broken" if broken else "worse"
            yield f"{word:<12}  {what}: {was['figure']:.2f}, now {found['figure']:.2f}"


def releases(folder: Path = FOLDER) -> list[Release]:
    """Those that are there, as they were measured one after another."""
    found = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return sorted(found, key=lambda release: release["measured_at"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=__doc__)
    parser.add_argument("versions", nargs="*", help="two of them; left out: the newest two")
    args = parser.parse_args()
    there = {release["version"]: release for release in releases()}
    chosen = args.versions or list(there)[-2:]
    if len(chosen) != 2 or not set(chosen) <= there.keys():
        parser.error(f"two releases are needed; there are {', '.join(there) or 'none'}")
    older, newer = (there[version] for version in chosen)
    print(f"{older['version']} → {newer['version']}")
    if older["short"] or newer["short"] or older["servers"] != newer["servers"]:
        print("  not alike: a short run, or other servers")
    lines = list(worse(older, newer))
    for line in lines or ["nothing became worse"]:
        print(f"  {line}")
    raise SystemExit(bool(lines))


if __name__ == "__main__":
    main()
