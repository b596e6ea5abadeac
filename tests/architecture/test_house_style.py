"""Rules about every file: size, names, imports, and a reason beside each exception."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, calls, files, name, tree

CEILING_LINES = 300
PYTHON = tuple(path for path in files(".py") if not name(path).startswith("migrations/"))
TEXT = tuple(
    path
    for suffix in (
        ".py",
        ".md",
        ".toml",
        ".lock",
        ".html",
        ".css",
        ".js",
        ".sh",
        ".yml",
        ".json",
        "",
    )
    for path in files(suffix)
    if suffix or path.name in ("Makefile", "run", "LICENSE", ".gitignore")
)


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    long = {name(path): len(path.read_text().splitlines()) for path in PYTHON}
    assert not {path: lines for path, lines in long.items() if lines > CEILING_LINES}


def test_files_are_named_after_what_they_hold() -> None:
    catch_alls = {"utils", "util", "helpers", "helper", "common", "misc", "models"}
    assert not [name(path) for path in PYTHON if path.stem in catch_alls]


def test_annotations_are_never_evaluated() -> None:
    """One rule for all files, so that a reader need not look."""
    line = "from __future__ import annotations"
    assert not [
        name(path)
        for path in PYTHON
        if path.name != "__init__.py"
        and "import " in path.read_text()
        and line not in path.read_text()
    ]


@pytest.mark.parametrize(
    ("comment", "reasoned"),
    [
        (r"#\s*noqa", r"#\s*noqa: [A-Z]+\d+(, ?[A-Z]+\d+)* - \w+"),
        (r"#\s*type:\s*ignore", r"#\s*type: ignore\[[a-z-]+(, ?[a-z-]+)*\]\s+# \w+"),
        (r"#\s*pragma: no cover", r"#\s*pragma: no cover - \w+"),
        (r"#\s*shellcheck disable", r"#\s*shellcheck disable=SC\d+ # \w+"),
    ],
)
def test_an_exception_in_a_line_says_why(comment: str, reasoned: str) -> None:
    here = Path(__file__)
    wrong = [
        f"{name(path)}:{number}"
        for path in (*PYTHON, *files(".sh"))
        if path != here
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(comment, line) and not re.search(reasoned, line)
    ]
    assert not wrong


def test_an_exception_for_many_files_says_why() -> None:
    """Each rule that ruff is told to ignore stands on a line of its own, with its reason."""
    text = (ROOT / "pyproject.toml").read_text()
    section = text[text.index("[tool.ruff.lint]") : text.index("[tool.ruff.lint.flake8")]
    codes = [line for line in section.splitlines() if re.match(r'\s+"[A-Z]+\d*"', line)]
    assert codes
    assert not [line for line in codes if not re.fullmatch(r'\s+"[A-Z]+\d*", # \S.*', line)]


def test_no_path_of_somebodys_machine() -> None:
    somewhere = re.compile(r"(?<![\w.:/-])/(?:home|root|Users|work|tmp)/[A-Za-z0-9_.-]+")
    wrong = [
        f"{name(path)}:{number} {match[0]}"
        for path in TEXT
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if (match := somewhere.search(line))
    ]
    assert not wrong


def test_tests_do_not_sleep() -> None:
    """They wait for a condition (`wait_until`) or for a signal; a program that plays an agent may dawdle."""
    waiting = "tests/support/waiting.py"
    wrong = [
        f"{name(path)}:{line} {called}"
        for path in files(".py", "tests")
        if path.name.startswith(("test_", "conftest")) or path.parent.name == "support"
        if name(path) != waiting
        for called, line in calls(tree(path))
        if called in ("time.sleep", "sleep", "gevent.sleep", "asyncio.sleep")
    ]
    assert not wrong


def test_nothing_is_skipped_without_a_word() -> None:
    wrong = []
    for path in files(".py", "tests"):
        text = path.read_text()
        wrong += [
            f"{name(path)}:{line} {called}"
            for called, line in calls(tree(path))
            if called.endswith(("mark.skip", "mark.skipif", "mark.xfail"))
            and "reason=" not in "".join(text.splitlines()[line - 1 : line + 4])
        ]
    assert not wrong
