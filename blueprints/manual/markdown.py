"""A page's Markdown as HTML, and its sections as text. What is HTML in it is shown as it is written."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from posixpath import join, normpath

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from blueprints.manual.shelf import ROOT, file_of, names

_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")
_REACHABLE = {
    "<pre>": '<pre tabindex="0">',
    "<table>": '<div class="across" tabindex="0"><table>',
    "</table>": "</table></div>",
    "<th></th>": "<td></td>",
}
"""What is wider than the page can be scrolled by keys, and no head of a column is empty."""
_NO_WORD = re.compile(r"[^\w\- ]")


@dataclass(frozen=True, slots=True)
class Section:
    """From a heading to the next. `level`: 1 for the page's title; `text`: without any marks."""

    title: str
    anchor: str
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    name: str
    title: str
    html: Markup
    sections: tuple[Section, ...]


@cache
def page(name: str) -> Page:
    """One of `names()`."""
    tokens = _PARSER.parse((ROOT / file_of(name)).read_text())
    sections = _sections(tokens)
    for token in tokens:
        for part in token.children or ():
            if part.type == "link_open":
                _lead(part, name, names())
    html = _PARSER.renderer.render(tokens, _PARSER.options, {})
    for tag, reachable in _REACHABLE.items():
        html = html.replace(tag, reachable)
    # the parser escapes whatever the pages hold
    return Page(name, sections[0].title, Markup(html), sections)  # noqa: S704 - our own pages


def _sections(tokens: Sequence[Token]) -> tuple[Section, ...]:
    """With the anchor of each set at its heading, as code hosts make them."""
    found: list[Section] = []
    title, anchor, level, texts = "", "", 1, [""]
    seen: dict[str, int] = {}
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            if title:
                found.append(Section(title, anchor, level, " ".join(texts)))
            title, level, texts = _text(tokens[at + 1]), int(token.tag[1]), []
            anchor = _NO_WORD.sub("", title.lower()).replace(" ", "-")
            seen[anchor] = seen.get(anchor, -1) + 1
            if seen[anchor]:
                anchor += f"-{seen[anchor]}"
            token.attrSet("id", anchor)
        elif token.type in ("inline", "fence") and tokens[at - 1].type != "heading_open":
            texts.append(_text(token))
    found.append(Section(title, anchor, level, " ".join(texts)))
    return tuple(found)


def _text(token: Token) -> str:
    if token.children is None:
        return token.content
    return "".join(
        " " if part.type == "softbreak" else part.content
        for part in token.children
        if part.type in ("text", "code_inline", "softbreak")
    )


def _lead(link: Token, name: str, there: Collection[str]) -> None:
    """Lead a link between files to the page here; one to what is not here is none."""
    target = str(link.attrGet("href") or "")
    path, mark, anchor = target.partition("#")
    if "://" in target or not path:
        return
    found = normpath(join(file_of(name), "..", path)).removesuffix(".md").removeprefix("docs/")
    for page_name in (found, f"{found}/README"):
        if page_name in there:
            link.attrSet("href", f"/docs/{page_name}{mark}{anchor}")
            return
    link.attrs = {"class": "not-here"}
