"""A node of the fault suite is what its environment makes it: a broken build, a clock that is off."""

from __future__ import annotations

from pathlib import Path

from tests.support.serving import Alone
from tests.support.waiting import wait_until


def test_what_its_environment_names_is_loaded(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "sitecustomize.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    node = Alone(url, log=tmp_path / "serve.log", settings={"PYTHONPATH": str(tmp_path)})
    wait_until(mark.exists, "the module that spoils a build is loaded")
    node.kill()
