"""What a page's commands say to the two programs, as their own parsers read it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from commands import main as restante
from restante_agent.cli.main import main as restante_agent
from tests.docs.pages import blocks, prose

PROGRAMS: dict[str, click.Group] = {"restante": restante, "restante-agent": restante_agent}
NAMED = re.compile(r"(?:^|[\s(/])(restante(?:-agent)?)(?= )([^|&;#)\n]*)")
SHELLS = ("sh", "console")


def takes(words: list[str], group: click.Command = restante) -> None:
    """Raise where the program does not know a command or an option of it."""
    while isinstance(group, click.Group) and not words[0].startswith("-"):
        group = group.commands[words.pop(0)]
        if not words:
            return
    group.make_parser(click.Context(group)).parse_args(words)


def said(page: Path) -> Iterator[tuple[str, list[str]]]:
    """(program, its words) of each command in shell blocks and of each that is named in prose."""
    for block in blocks(page):
        if block.language.split()[:1] and block.language.split()[0] in SHELLS:
            for line in block.text.replace("\\\n", " ").splitlines():
                yield from _commands(line)
    for span in re.findall(r"`(restante(?:-agent)? [^`]+)`", prose(page)):
        yield from _commands(" ".join(span.split()))


def _commands(line: str) -> Iterator[tuple[str, list[str]]]:
    for program, rest in NAMED.findall(line):
        try:
            words = shlex.split(re.sub(r"[<>].*", "", rest))
        except ValueError:  # a quote that ends behind what was cut off
            words = shlex.split(re.sub(r"['\"].*", "text", rest))
        if words[:1] == [program]:  # `docker compose exec restante restante …`: the service's name
            words = words[1:]
        if words and re.fullmatch(r"(--)?[a-z][a-z-]*", words[0]):
            yield program, words
