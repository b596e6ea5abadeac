"""What is published, built and installed where nothing of the checkout is: the two wheels."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

import restante
import restante_agent
from tests.architecture.sources import ROOT
from tests.architecture.test_packaging import RUNTIME, pins

SEMANTIC = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?")
INSTALL = ("install", "--quiet", "--no-compile")
"""What is run once is compiled as it is imported."""
LOOKS = """
import sys
from pathlib import Path
import app, restante, restante_agent
here = Path(sys.prefix)
for module in (app, restante, restante_agent):
    assert here in Path(module.__file__).parents, module.__file__
client = app.create_app().test_client()
paths = ["/", "/api/docs", "/problems", "/api/v1/openapi.json", "/static/manual.css", "/docs/agents"]
for path in (*paths, "/docs/sdk/python/README", "/docs/sdk/js/README"):
    assert client.get(path).status_code == 200, path
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Both, built."""
    folder = tmp_path_factory.mktemp("dist")
    for project in (ROOT, ROOT / "sdk" / "python"):
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
        subprocess.run(build, cwd=project, check=True, capture_output=True, timeout=120)
    built = [str(path) for path in folder.glob("*.whl")]
    assert len(built) == 2
    return built


def pip_of(python: Path) -> list[str]:
    """This environment's pip, working on another one."""
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(python)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wheels: list[str]) -> Path:
    """Where the commands of both wheels are.

    The environment is new. It has what the lock names from this one, whose own links to the checkout do
    not reach there: a folder that a .pth file adds is not looked through for others.
    """
    folder = tmp_path_factory.mktemp("wheels")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    install = [*pip_of(python), *INSTALL, "--no-deps", "--no-index", *wheels]
    subprocess.run(install, check=True, timeout=120)
    own = sysconfig.get_path("purelib", vars={"base": str(folder / "env")})
    (Path(own) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


def run(folder: Path, *words: str, cwd: Path) -> str:
    env = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "HOME": str(cwd),
        "RESTANTE_INSTANCE": str(cwd / "instance"),
    }
    done = subprocess.run(
        [str(folder / words[0]), *words[1:]],
        cwd=cwd,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_version_is_said_once_and_is_semantic() -> None:
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert said == restante.__version__ == restante_agent.__version__
    assert SEMANTIC.fullmatch(said)


def test_commands_tell_their_version(installed: Path, tmp_path: Path) -> None:
    version = restante.__version__
    assert run(installed, "restante", "--version", cwd=tmp_path) == f"restante, version {version}\n"
    told = run(installed, "restante-agent", "--version", cwd=tmp_path)
    assert told == f"restante-agent, version {version}\n"


@pytest.mark.timeout(600)
def test_what_they_declare_is_all_they_need(wheels: list[str], tmp_path: Path) -> None:
    """Installed with their dependencies from an index, at the versions of the lock."""
    if not os.environ.get("CI"):
        pytest.skip("left out: wheels with their dependencies are installed where CI is set")
    venv.create(tmp_path / "env", with_pip=False)
    pip = pip_of(tmp_path / "env" / "bin" / "python")
    probe = [*pip, "download", "--quiet", "--no-deps", "--no-cache-dir", "-d", str(tmp_path)]
    asked = subprocess.run(
        [*probe, "markupsafe"], capture_output=True, text=True, check=False, timeout=120
    )
    if asked.returncode:
        pytest.skip("left out: no package index answers, so nothing can be installed from it")
    locked = tmp_path / "constraints.txt"
    locked.write_text("".join(f"{name}=={at}\n" for name, at in pins(RUNTIME).items()))
    install = [*pip, *INSTALL, "-c", str(locked), *wheels]
    done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    checked = subprocess.run([*pip, "check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
    for command in ("restante", "restante-agent"):
        told = run(tmp_path / "env" / "bin", command, "--version", cwd=tmp_path)
        assert told == f"{command}, version {restante.__version__}\n"


def test_what_is_installed_serves_and_migrates_without_the_checkout(
    installed: Path, tmp_path: Path
) -> None:
    (tmp_path / "instance").mkdir()
    run(installed, "restante", "db", "upgrade", cwd=tmp_path)
    made = run(installed, "restante", "tenant", "create", "acme", "--json", cwd=tmp_path)
    assert '"tenant_id"' in made
    run(installed, "python", "-c", LOOKS, cwd=tmp_path)
