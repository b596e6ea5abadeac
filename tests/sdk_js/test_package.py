"""The npm package: what is in it, its version, its types, and the README's examples, which are run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
import time
import tomllib
from pathlib import Path

from tests.architecture.sources import ROOT
from tests.sdk.fake_answers import AGENT, SECRET
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import served
from tests.sdk_js.node_tests import PACKAGE, package_version, run_program, with_package
from tests.support.unavailable import Unavailable, had

CEILING_LINES = 300
SOURCES = sorted(path for path in PACKAGE.rglob("*") if path.name.endswith((".js", ".ts")))
README = (PACKAGE / "README.md").read_text()
OFFERED = """
import * as all from "restante-agent";
import * as webhook from "restante-agent/webhook";
const methods = (kind) => Object.getOwnPropertyNames(kind.prototype).filter((name) => name !== "constructor");
console.log(JSON.stringify({
  names: [...Object.keys(all), ...Object.keys(webhook)],
  client: methods(all.Client),
  errors: Object.keys(all).filter((name) => all[name].prototype instanceof Error),
}));
"""


INSTALLED = """
import { Client, version } from "restante-agent";
import { Receiver } from "restante-agent/webhook";
if (!Client || !Receiver) throw new Error("something is missing");
console.log(version);
"""


ENDED = """
import { Agent, Client } from "restante-agent";
const agent = new Agent(Client.fromEnvironment(), ({ signal }) => {
  process.kill(process.pid, "SIGTERM");
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}, { drainSeconds: 0 });
console.log(JSON.stringify(await agent.run()));
"""


def npm() -> str:
    """Where npm is; raises Unavailable."""
    found = shutil.which("npm")
    if found is None:
        raise Unavailable("npm is not on this machine")
    return found


def settings(url: str, folder: Path) -> dict[str, str]:
    return {
        "RESTANTE_URL": url,
        "RESTANTE_CLIENT_ID": AGENT,
        "RESTANTE_CLIENT_SECRET": SECRET,
        "RESTANTE_STATE_DIR": str(folder / "state"),
    }


def test_it_has_the_servers_version() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert package_version() == wanted
    assert f'"{wanted}"' in (PACKAGE / "lib" / "version.js").read_text()


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = {path.name: len(path.read_text().splitlines()) for path in SOURCES}
    assert not {name: lines for name, lines in long.items() if lines > CEILING_LINES}


def test_a_page_can_load_every_file_that_it_imports() -> None:
    """No import of Node's where a page comes by, and each of a file that is there."""
    for_pages, look = set(), [PACKAGE / "index.js", PACKAGE / "webhook.js"]
    while look:
        path = look.pop()
        for_pages.add(path)
        for asked in re.findall(r'(?:from|import) "([^"]+)"', path.read_text()):
            assert asked.startswith("./"), f"{path.name} imports {asked}"
            found = (path.parent / asked).resolve()
            assert found.exists(), f"{path.name} imports {asked}"
            look += [found] if found not in for_pages else []
    assert len(for_pages) > 30


def test_npm_packs_what_is_needed_and_no_more(tmp_path: Path) -> None:
    argv = [had(npm), "pack", "--silent", "--offline", "--pack-destination", str(tmp_path)]
    subprocess.run(argv, cwd=PACKAGE, check=True, capture_output=True, timeout=60)
    (packed,) = tmp_path.glob("*.tgz")
    with tarfile.open(packed) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    here = {path.relative_to(PACKAGE).as_posix() for path in SOURCES}
    assert names == here | {"README.md", "LICENSE", "package.json"}
    quiet = ["--silent", "--offline", "--no-audit", "--no-fund"]
    (tmp_path / "package.json").write_text('{"type": "module"}')
    install = [argv[0], "install", *quiet, str(packed)]
    subprocess.run(install, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    assert not (tmp_path / "node_modules" / "restante-agent").is_symlink()
    done = run_program(tmp_path, INSTALLED, {})
    assert (done.returncode, done.stdout.strip()) == (0, package_version()), done.stderr
    assert (
        json.loads((PACKAGE / "package.json").read_text()).keys()
        & {
            "dependencies",
            "devDependencies",
            "scripts",
        }
        == set()
    )


def test_types_name_what_is_there_and_nothing_else(tmp_path: Path) -> None:
    done = run_program(with_package(tmp_path), OFFERED, {})
    assert done.returncode == 0, done.stderr
    offered = json.loads(done.stdout)
    files = [*PACKAGE.glob("types/*.d.ts"), PACKAGE / "index.d.ts", PACKAGE / "webhook.d.ts"]
    types = "\n".join(path.read_text() for path in files)
    named = set(re.findall(r"^export (?:class|const|function) (\w+)", types, re.MULTILINE))
    assert named == set(offered["names"])
    client = (PACKAGE / "types" / "client.d.ts").read_text().partition("class Client")[2]
    members = re.findall(r"^  (?:readonly )?(\w+)[(:]", client.partition("\n}")[0], re.MULTILINE)
    assert set(members) - {"constructor"} == set(offered["client"])


def test_the_examples_of_the_readme_run(tmp_path: Path) -> None:
    folder = with_package(tmp_path)
    examples = re.findall(r"^```js\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert len(examples) == 3
    inbox = FakeInbox(time.monotonic)
    with served(inbox) as server:
        env = settings(server.url, tmp_path)
        told = []
        for example in examples:
            done = run_program(folder, example, env)
            assert done.returncode == 0, done.stderr
            told.append(done.stdout)
    assert "hello 1 null" in told[0]  # the fake keeps no keys
    assert "acked: 1" in told[0]
    assert "1 events, epoch ep_1" in told[1]
    assert "completed" in told[1]
    assert inbox.all_completed()


def test_a_process_that_is_told_to_end_gives_back_what_it_holds(tmp_path: Path) -> None:
    folder, inbox = with_package(tmp_path), FakeInbox(time.monotonic)
    held = inbox.publish()
    with served(inbox) as server:
        env = settings(server.url, tmp_path)
        done = run_program(folder, ENDED, env)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["released"] == 1
    assert inbox.statuses() == {held: "pending"}
