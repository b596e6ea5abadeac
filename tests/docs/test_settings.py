"""docs/settings.md and docs/operators.md name every setting, with the default that the code has."""

from __future__ import annotations

import re

from config import PREFIX, Settings
from tests.docs.pages import ROOT

TEXT = "".join((ROOT / "docs" / f"{page}.md").read_text() for page in ("settings", "operators"))
SAID = dict(re.findall(rf"^\| `{PREFIX}([A-Z_]+)` \| ([^|]*?) ?\|", TEXT, re.MULTILINE))


def test_every_setting_is_named() -> None:
    assert {name.lower() for name in SAID} == Settings.model_fields.keys()


def test_defaults_are_those_of_the_code() -> None:
    for name, said in SAID.items():
        default = Settings.model_fields[name.lower()].default
        if isinstance(default, int | float):
            assert float(said.split()[0]) == default, name
        elif said in ("`on`", "`expire`"):
            assert said.strip("`") == default, name
