"""Makes the project's virtual environment: `bootstrap.py runtime|dev [--venv DIR]`.

Needs Python 3.11 and nothing else. A stamp inside the environment names what it was made from, so
a run that finds nothing changed costs only its own start. Everything that is installed has its hash
in a lock; the checkout itself and `sdk/python` are installed in place.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pip_wheel import NoPip, fetch_pip

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {"runtime": ROOT / "requirements.lock", "dev": ROOT / "requirements-dev.lock"}
PROJECTS = (ROOT, ROOT / "sdk" / "python")


def fingerprint(kind: str, venv: Path) -> str:
    """A digest of all that decides what the environment of this kind looks like."""
    digest = hashlib.sha256(f"{sys.version}\n{venv}\n".encode())
    for path in (LOCKS[kind], Path(__file__)):
        digest.update(path.read_bytes())
    for project in PROJECTS:
        said = tomllib.loads((project / "pyproject.toml").read_text())
        # not the settings of linters: they change nothing that is installed
        installed = (said["build-system"], said["project"], said.get("tool", {}).get("hatch"))
        digest.update(repr(installed).encode())
    return digest.hexdigest()


def is_current(kind: str, venv: Path) -> bool:
    """Tell whether the environment has this kind's packages; `dev` has all of `runtime`."""
    stamps = {kind, "dev"}
    return any(
        (venv / f"stamp-{k}").exists() and (venv / f"stamp-{k}").read_text() == fingerprint(k, venv)
        for k in stamps
    )


def run(*argv: str | Path, why: str) -> None:
    """Run a command; its failure ends the program with the command's own last words."""
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        words = (done.stdout + done.stderr).strip().splitlines()[-15:]
        sys.exit("\n".join([f"{why} failed (exit {done.returncode}):", *words]))


def make_venv(venv: Path) -> None:
    """An empty environment that has pip, fetched where this Python has no ensurepip (Debian's)."""
    shutil.rmtree(venv, ignore_errors=True)
    if importlib.util.find_spec("venv") is None:
        sys.exit("This Python has no venv module (Debian, Ubuntu: apt install python3-venv).")
    bundled = importlib.util.find_spec("ensurepip") is not None
    run(
        sys.executable,
        "-m",
        "venv",
        *(() if bundled else ("--without-pip",)),
        venv,
        why="making the environment",
    )
    if bundled:
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            wheel = fetch_pip(Path(folder))
        except NoPip as error:
            sys.exit(f"This Python has no ensurepip, and pip could not be fetched: {error}")
        # a wheel is a zip archive, and pip can be run from its own
        run(
            venv / "bin" / "python",
            f"{wheel}/pip",
            "install",
            "--no-index",
            "--no-deps",
            wheel,
            why="installing pip",
        )


def install(kind: str, venv: Path) -> None:
    """Bring the environment to what the lock names, then put the checkout's own projects in place."""
    pip = [
        str(venv / "bin" / "python"),
        "-m",
        "pip",
        "--disable-pip-version-check",
        "install",
        "-q",
    ]
    run(*pip, "--require-hashes", "-r", LOCKS[kind], why="installing the locked packages")
    editable = [part for project in PROJECTS for part in ("-e", str(project))]
    # hatchling comes from the lock, so nothing unlocked is asked of the index
    pip += ["--no-deps", "--no-build-isolation", "--no-index"]
    run(*pip, *editable, why="installing the checkout")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=sorted(LOCKS))
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv")
    args = parser.parse_args()
    venv = args.venv.absolute()
    if is_current(args.kind, venv):
        return
    folder = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)  # of two at once, the second finds it done
    if is_current(args.kind, venv):
        return
    began = time.monotonic()
    print(f"setting up {venv} ({args.kind}); the first time takes a minute or two", flush=True)
    stamp = venv / f"stamp-{args.kind}"
    made_for = venv / "made-for"  # an environment moved, or of another Python, is made anew
    identity = f"{sys.version}\n{venv}\n"
    if not made_for.exists() or made_for.read_text() != identity:
        make_venv(venv)
        made_for.write_text(identity)
    for old in venv.glob("stamp-*"):
        old.unlink()
    install(args.kind, venv)
    stamp.write_text(fingerprint(args.kind, venv))
    print(f"done in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
