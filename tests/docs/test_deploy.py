"""Units, image and compose file of deploy/: their tools take them, and what they name is there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml

from config import PREFIX, Settings
from restante.identity.oidc.configuration import parse_groups
from tests.docs.command_words import takes
from tests.docs.pages import ROOT, blocks

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
DOCKERFILE = (DEPLOY / "docker" / "Dockerfile").read_text()
COMPOSE = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())
# read and not imported: these modules have gevent patch the interpreter
STOPPING_SECONDS = sum(
    float(
        re.findall(rf"^{name} = ([\d.]+)$", (ROOT / "workers" / file).read_text(), re.MULTILINE)[0]
    )
    for name, file in (("DRAIN_SECONDS", "worker.py"), ("GRACEFUL_SECONDS", "serving.py"))
)
FILES = Settings.model_fields["max_streams"].default + 1_000
SETTINGS = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}


def unit(path: Path) -> dict[str, list[str]]:
    """The values of each key, by `section.key`."""
    section, found = "", {}
    for line in path.read_text().splitlines():
        if head := re.fullmatch(r"\[(\w+)\]", line):
            section = head[1]
        elif line and not line.startswith("#"):
            key, sign, value = line.partition("=")
            assert sign, f"{path.name}: {line}"
            assert re.fullmatch(r"[A-Z]\w*", key), f"{path.name}: {line}"
            found.setdefault(f"{section}.{key}", []).append(value)
    return found


def on_the_page(heading: str, language: str, *, page: str = "deploy") -> list[str]:
    """The page's blocks of a language under a heading."""
    return [
        block.text
        for block in blocks(ROOT / "docs" / f"{page}.md")
        if (block.heading, block.language) == (heading, language)
    ]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_says_what_serve_needs(path: Path) -> None:
    told = unit(path)
    ((program, *words),) = map(shlex.split, told["Service.ExecStart"])
    assert Path(program).name == "restante"
    takes(words)
    assert int(told["Service.TimeoutStopSec"][0]) >= 30
    assert told["Service.KillMode"] == ["mixed"]  # gunicorn's first process tells its workers
    named = re.findall(rf"\b{PREFIX}[A-Z_]+", path.read_text())
    assert set(named) <= SETTINGS
    for key in ("User", "StateDirectory", "RuntimeDirectory", "EnvironmentFile", "Environment"):
        assert told[f"Service.{key}"] == unit(UNITS[0])[f"Service.{key}"], key
    if "serve" in words:
        assert int(told["Service.TimeoutStopSec"][0]) > STOPPING_SECONDS
        assert int(told["Service.LimitNOFILE"][0]) >= FILES


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_takes_a_unit(path: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip(
            "left out: systemd-analyze is not on this machine; the test above reads the units"
        )
    copy = tmp_path / path.name
    copy.write_text(path.read_text().replace("/opt/restante/bin/restante", "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_installs_what_the_unit_starts() -> None:
    made, begun = on_the_page("On a machine", "sh")
    told = unit(DEPLOY / "systemd" / "restante.service")
    assert f"{told['Service.ExecStart'][0].split()[0]} " in begun
    (settings,) = told["Service.EnvironmentFile"]
    assert f"install -D -m 600 /dev/null {settings}\n" in f"{made}\n"
    assert f"set -a; . {settings}; set +a\n" in begun  # by the commands as by the unit
    for name in re.findall(r"(?:-r|cp) (\S+)", made + begun):
        assert (ROOT / name).is_file(), name


def test_an_upgrade_installs_and_reads_what_the_first_time_did() -> None:
    made, begun = (text.splitlines() for text in on_the_page("On a machine", "sh"))
    (again,) = on_the_page("Upgrade", "sh host", page="upgrades")
    assert again.splitlines()[:4] == [*made[1:3], *begun[:2]]
    for line in again.splitlines():
        if line.startswith("cp "):
            assert (ROOT / line.split()[1]).is_file()


def test_settings_of_the_page_are_read_alike_by_a_shell_and_by_systemd(tmp_path: Path) -> None:
    (shown,) = on_the_page("On a machine", "ini")
    file = tmp_path / "restante.env"
    file.write_text(f"{shown}\n")
    read = subprocess.run(
        ["sh", "-euc", f"set -a; . {file}; exec env -0"], env={}, capture_output=True, check=True
    ).stdout.decode()
    by_shell = dict(line.split("=", 1) for line in read.split("\0") if line)
    by_systemd = {}
    for line in shown.splitlines():
        name, _, value = line.partition("=")
        if value[:1] == "'":  # systemd.exec(5): literally, up to the next
            assert re.fullmatch(r"'[^']*'", value)
            value = value[1:-1]
        else:
            assert not set(value) & set(" \"'`\\$#&;|<>(){}*?~")
        by_systemd[name] = value
    assert set(by_systemd) <= SETTINGS
    assert {name: by_shell[name] for name in by_systemd} == by_systemd
    assert parse_groups(by_systemd["RESTANTE_OIDC_GROUPS"])


def test_the_page_makes_what_the_compose_file_asks_for(tmp_path: Path) -> None:
    (shown,) = on_the_page("In containers", "sh")
    *making, up, _, _, _ = shown.splitlines()
    assert up.endswith("up -d --build --wait")
    assert ".env" in (ROOT / ".gitignore").read_text().splitlines()
    folder = tmp_path / "deploy" / "docker"
    folder.mkdir(parents=True)
    text = "\n".join(making)
    for _ in range(2):  # the second time it leaves what is there
        subprocess.run(["sh", "-euc", text], cwd=tmp_path, check=True, timeout=60)
        made = dict(
            line.split("=", 1) for line in (folder / ".env").read_text().splitlines() if line
        )
    assert set(made) == set(
        re.findall(r"\$\{(\w+):\?", (DEPLOY / "docker" / "compose.yaml").read_text())
    )
    assert made["DATABASE_PASSWORD"].isalnum()
    assert len(made["RESTANTE_SECRET_KEY"]) >= 32
    assert (folder / ".env").stat().st_mode & 0o077 == 0


def instructions() -> list[tuple[str, str]]:
    """(instruction, arguments) of the Dockerfile, continued lines joined."""
    text = re.sub(r"^#.*\n", "", DOCKERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    pairs = [line.partition(" ") for line in text.splitlines() if line]
    return [(name, rest.strip()) for name, _, rest in pairs]


def test_the_image_has_all_that_is_shipped_and_nothing_else() -> None:
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL"}
    known |= {"HEALTHCHECK", "ENTRYPOINT", "CMD"}
    assert {name for name, _ in instructions()} == known
    shipped = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    copied = [
        word
        for name, rest in instructions()
        if name == "COPY" and not rest.startswith("--from")
        for word in rest.split()[:-1]
    ]
    assert all(list(ROOT.glob(word)) for word in copied)
    wanted = shipped["targets"]["wheel"]["only-include"]
    assert not [name for name in wanted if not any(fnmatch(name, word) for word in copied)]
    ignored = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in ignored
    assert {line[1:] for line in ignored if line.startswith("!")} == set(copied)


def test_the_image_runs_as_nobody_special_and_gets_its_signals() -> None:
    told = dict(instructions())  # the last of each: what runs
    assert all(
        re.search(r":\d[\w.-]+( AS build)?$", rest) for n, rest in instructions() if n == "FROM"
    )
    assert told["USER"].isdigit()
    assert int(told["USER"]) > 0
    order = [name for name, _ in instructions()]
    assert order.index("USER") < order.index("VOLUME")
    takes(json.loads(told["CMD"]))
    assert json.loads(told["ENTRYPOINT"]) == ["restante"]
    assert "/health/ready" in told["HEALTHCHECK"]
    assert "--require-hashes" in DOCKERFILE
    assert {word.partition("=")[0] for word in told["ENV"].split()} - SETTINGS == {
        "PATH",
        "PYTHONUNBUFFERED",
    }


def test_the_compose_file_holds_together() -> None:
    services = COMPOSE["services"]
    for name, service in services.items():
        assert re.search(r":\d", service["image"]) or "build" in service, f"{name} has no version"
        for other in service.get("depends_on", {}):
            assert other in services
        for volume in service.get("volumes", ()):
            assert volume.partition(":")[0] in COMPOSE["volumes"]
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), "a proxy lets others in"
    for name in ("migrate", "restante"):
        assert set(services[name]["environment"]) <= SETTINGS
        assert services[name]["read_only"]
        assert services[name]["ulimits"]["nofile"] >= FILES
    takes(list(services["migrate"]["command"]))
    assert float(services["restante"]["stop_grace_period"].removesuffix("s")) > STOPPING_SECONDS
    # nothing secret has a value here, and what is missing is said before anything starts
    text = (DEPLOY / "docker" / "compose.yaml").read_text()
    for secret in ("RESTANTE_SECRET_KEY", "DATABASE_PASSWORD", "RESTANTE_PUBLIC_URL"):
        assert re.search(rf"\$\{{{secret}:\?", text)
        assert not re.search(rf"\$\{{{secret}(?!:\?)", text)
    assert (DEPLOY / "docker" / services["restante"]["build"]["context"]).resolve() == ROOT
    assert (ROOT / services["restante"]["build"]["dockerfile"]).is_file()
