"""Every command that contract section 8 names is there, with the options it names, and `--json`."""

from __future__ import annotations

import click
import pytest

from commands import main

COMMANDS = {
    "db upgrade": (),
    "db restored": (),
    "db copy": ("--to",),
    "serve": ("--host", "--port", "--workers"),
    "maintain": ("--once",),
    "keys rotate": ("--emergency",),
    "secrets rotate": (),
    "audit verify": (),
    "leak-test": ("--database-url", "--seed"),
    "doctor": ("--url",),
    "tenant create": ("--unsigned-ok",),
    "project create": ("--tenant",),
    "agent create": ("--tenant", "--name", "--grant", "--capability"),
    "service create": ("--tenant", "--name", "--scope"),
    "operator invite": ("--tenant", "--email", "--role"),
}
REPEATED = {"--grant", "--capability", "--scope"}


def found(words: str) -> click.Command:
    command: click.Command = main
    for word in words.split():
        assert isinstance(command, click.Group)
        command = command.commands[word]
    return command


@pytest.mark.parametrize("words", COMMANDS)
def test_a_command_has_the_options_of_the_contract(words: str) -> None:
    options = {name: option for option in found(words).params for name in option.opts}
    assert {*COMMANDS[words], "--json"} <= options.keys()
    for name in REPEATED & {*COMMANDS[words]}:
        assert options[name].multiple, f"{name} is repeated, it takes no list"


def test_the_list_of_operators_commands_cuts_no_sentence() -> None:
    group = found("operator")
    shown = group.get_help(click.Context(group, terminal_width=80))
    assert "list" in shown
    assert "..." not in shown.partition("Commands:")[2]


def test_every_command_has_a_sentence_and_json() -> None:
    """Whatever the contract names, and whatever it does not."""

    def leaves(command: click.Command, words: str) -> list[tuple[str, click.Command]]:
        if not isinstance(command, click.Group):
            return [(words, command)]
        return [
            leaf
            for name, child in command.commands.items()
            for leaf in leaves(child, f"{words} {name}".strip())
        ]

    for words, command in leaves(main, ""):
        assert command.help, words
        assert "--json" in {name for option in command.params for name in option.opts}, words
