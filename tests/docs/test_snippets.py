"""Short programs of the pages that need no server: each is run, or read by what would run it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, request

from restante_agent import Turn
from restante_agent.cli.main import main
from restante_agent.webhook import Receiver
from restante_agent.webhook_adapters import flask_answer
from tests.docs.command_words import takes
from tests.docs.pages import ROOT, Block, blocks
from tests.sdk.test_webhook import BODY, JWKS, NEW, SECONDS, fields
from tests.sdk_js.node_tests import PACKAGE, node
from tests.support.unavailable import had

PYTHON, JS = (ROOT / "sdk" / name / "README.md" for name in ("python", "js"))


def block(page: Path, heading: str, language: str) -> Block:
    (found,) = [b for b in blocks(page) if (b.heading, b.language) == (heading, language)]
    return found


def run(text: str, **names: Any) -> dict[str, Any]:
    """What a snippet defines."""
    exec(compile(text, "a page's snippet", "exec"), names)  # noqa: S102 - our own page
    return names


EVENT = SimpleNamespace(
    event_id="evt_1",
    type="question",
    project="mail",
    reply_to="agt_1",
    correlation_id=None,
    causation_id=None,
    ordering_key=None,
    payload={"text": "```"},
    producer=SimpleNamespace(kind="agent", id="agt_1", name="asker", signed=False),
)


def test_the_turn_of_the_page_on_memory() -> None:
    handle = run(block(ROOT / "docs" / "memory.md", "A turn", "python").text)["handle"]
    turn = handle(SimpleNamespace(event=EVENT))
    assert isinstance(turn, Turn)
    assert turn.memory == {"last_pull_request": 17}
    (answer,) = turn.publish
    assert (list(answer.recipients), answer.payload["of"]) == (["agt_1"], "evt_1")


def test_webhooks_of_the_packages_page(monkeypatch: pytest.MonkeyPatch) -> None:
    app, seen = Flask("receiver"), list[Any]()
    url = "https://hooks.example.com/hook"
    made = run(
        block(PYTHON, "Webhooks", "py").text,
        Receiver=lambda *_, **__: Receiver([NEW], jwks=JWKS, clock=lambda: SECONDS),
        os=SimpleNamespace(environ={"CALLBACK_SECRET": NEW}),
        app=app,
        request=request,
        handle=seen.append,
        flask_answer=flask_answer,
    )
    assert made["hook"] is not None
    answer = app.test_client().post(
        "/hook", base_url="https://hooks.example.com", data=BODY, headers=fields(url)
    )
    assert answer.status_code == 204
    assert [one.id for one in seen] == ["evt_1"]


def test_an_event_is_fenced_as_the_packages_page_says() -> None:
    text = block(PYTHON, "What others wrote is data", "py").text
    shown = run(text, delivery=SimpleNamespace(event=EVENT))["prompt"]
    assert "begin untrusted" in shown
    assert shown.count("`") == 0


@pytest.mark.parametrize(
    ("page", "heading"),
    [(PYTHON, "The inbox for a model's harness"), (ROOT / "docs" / "agents.md", "MCP")],
    ids=["sdk/python", "docs/agents"],
)
def test_the_settings_of_a_harness(page: Path, heading: str) -> None:
    said = json.loads(block(page, heading, "json").text)["mcpServers"]["restante"]
    assert said["command"] == "restante-agent"
    takes(list(said["args"]), main)
    options = {name for p in main.commands["mcp"].params for name in [getattr(p, "envvar", None)]}
    known = {*options, "RESTANTE_CLIENT_SECRET", "RESTANTE_PROJECT"}
    assert set(said["env"]) <= known


READ = """
const here = await import(process.argv[2]);
const named = JSON.parse(process.argv[3]);
const missing = named.filter((name) => !(name in here));
if (missing.length) throw new Error(`not exported: ${missing}`);
"""


def test_the_page_of_the_javascript_package_is_read_by_node(tmp_path: Path) -> None:
    program = had(node)
    page = block(JS, "In a page", "html").text
    (script,) = re.findall(r'<script type="module">\n(.*?)</script>', page, re.DOTALL)
    (names, source) = re.findall(r'import \{ (.*?) \} from "(.*?)"', script)[0]
    assert (PACKAGE / Path(source).name).is_file()
    (tmp_path / "page.mjs").write_text(script)
    (tmp_path / "read.mjs").write_text(READ)
    for argv in (
        ["--check", "page.mjs"],
        ["read.mjs", str(PACKAGE / "index.js"), json.dumps(names.split(", "))],
    ):
        done = subprocess.run(
            [program, *argv], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
