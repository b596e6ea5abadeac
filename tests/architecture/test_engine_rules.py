"""What the engine's rooms may not do (import rules are import-linter's, see pyproject.toml)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

from tests.architecture.sources import ROOT, calls, files, imports, name, names_used, tree

ENGINE = files(".py", "restante")
SERVER = files(".py", "restante", "blueprints", "workers")


def found(
    paths: tuple[Path, ...], wrong: Callable[[str], bool], *, except_in: tuple[str, ...] = ()
) -> list[str]:
    """`file:line name` for each use of a name that is wrong."""
    return [
        f"{name(path)}:{line} {used}"
        for path in paths
        if not name(path).startswith(except_in or ("\0",))
        for used, line in names_used(tree(path))
        if wrong(used)
    ]


def test_only_the_unit_of_work_commits_or_rolls_back() -> None:
    ends = (".commit", ".rollback")
    assert not found(
        ENGINE,
        lambda used: used.endswith(ends),
        except_in=("restante/storage/transaction.py", "restante/storage/unit.py"),
    )


def test_the_engine_reads_no_environment() -> None:
    words = ("os.environ", "os.getenv", "environ")
    assert not found(ENGINE, lambda used: used in words)


def test_the_engine_reads_no_wall_clock() -> None:
    clocks = {
        *("datetime.now", "datetime.utcnow", "datetime.today", "date.today"),
        *("time.time", "time.time_ns", "time.localtime", "time.gmtime"),
    }
    # SQLite's clock is its process's; an id's time prefix orders nothing that is delivered
    allowed = ("restante/storage/clock.py", "restante/storage/ids.py")
    assert not found(
        ENGINE,
        lambda used: used in clocks or used.removeprefix("datetime.") in clocks,
        except_in=allowed,
    )


def test_the_engine_prints_nothing() -> None:
    words = ("print", "sys.stdout", "sys.stderr", "pprint")
    assert not found(ENGINE, lambda used: used in words)


def test_no_statement_asks_for_returning() -> None:
    """MySQL has none, and MariaDB would let it pass."""
    assert not found(SERVER, lambda used: used.endswith(".returning"))


def test_blueprints_open_no_transaction_by_hand() -> None:
    words = (".execute", ".scalars", ".begin", ".commit", ".rollback", "text")
    wrong = [
        f"{name(path)}:{line} {called}"
        for path in files(".py", "blueprints")
        for called, line in calls(tree(path))
        if called.endswith(words[:-1]) or called == words[-1]
    ]
    assert not wrong


def test_no_blueprint_opens_a_unit_of_work_within_another() -> None:
    """It would wait for SQLite's only writer, which it is itself; and take a second slot elsewhere."""
    opens = (
        *(".database.run", ".authority.claims", ".authority.principal", ".authority.now"),
        *(".signers.find", "authenticate", "check_signature", "check_unsigned"),
        *("entrance.leave", "entrance.arrive"),
        *(f"challenger.{verb}" for verb in ("register", "again", "change", "activate")),
    )
    wrong = [
        f"{name(path)}:{line} {called}"
        for path in files(".py", "blueprints")
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef)
        and any(argument.arg == "session" for argument in function.args.args)
        for called, line in calls(ast.Module(function.body, []))
        if called.endswith(opens)
    ]
    assert not wrong


def test_authlib_stays_where_tokens_are_asked_for_and_people_sign_in() -> None:
    rooms = ("blueprints/oauth/", "blueprints/login", "extensions.py")
    wrong = [
        f"{name(path)}:{line}"
        for path in (*SERVER, *(path for path in files(".py") if path.parent == ROOT))
        if not name(path).startswith(rooms)
        for module, line in imports(tree(path))
        if module.partition(".")[0] == "authlib"
    ]
    assert not wrong
