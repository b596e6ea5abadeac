"""The pages for agents and for producers are run as they stand; MCP is in tests/sdk/test_mcp.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, blocks
from tests.docs.transcripts import compare, run
from tests.sdk_js.node_tests import node
from tests.support.serving import Served
from tests.support.unavailable import had

PAGES = ("agents", "producers")


@pytest.mark.timeout(300)
def test_agents_and_producers_do_as_their_pages_say(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    had(node)
    shown = [
        block
        for page in PAGES
        for block in blocks(ROOT / "docs" / f"{page}.md")
        if block.heading != "MCP"
    ]
    assert compare(shown, run(shown, serve, tmp_path)) == 6
