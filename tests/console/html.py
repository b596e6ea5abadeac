"""Pages as a browser without scripts has them: elements, text, and forms to fill in and send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

_INLINE = {"a", "abbr", "b", "bdi", "code", "span", "strong", "time"}
_VOID = {"input", "meta", "link", "br", "img", "hr", "base", "source"}


@dataclass
class Element:
    """One element; `text` is all that is in it."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def __iter__(self) -> Iterator[Element]:
        """It and all that are in it, as they stand in the page."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child

    @property
    def text(self) -> str:
        return " ".join(self._text().split())

    @property
    def raw(self) -> str:
        """The text as it stands there, with its spaces."""
        return "".join(c if isinstance(c, str) else c.raw for c in self.children)

    def _text(self) -> str:
        parts = [child if isinstance(child, str) else child._text() for child in self.children]
        inside = "".join(parts)
        return inside if self.tag in _INLINE else f" {inside} "

    def all(self, tag: str, **attributes: str) -> list[Element]:
        return [
            one
            for one in self
            if one.tag == tag and all(one.attributes.get(k) == v for k, v in attributes.items())
        ]

    def one(self, tag: str, **attributes: str) -> Element:
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} of <{tag}> {attributes} in {self.text[:300]}"
        return found[0]

    def form(self, action: str, index: int = 0) -> dict[str, str]:
        """What that form sends as it stands, without its buttons; those that belong to it by id too."""
        found = self.all("form", action=action)[index]
        owner = found.attributes.get("id")
        inside = [one for one in found if "form" not in one.attributes]
        inside += [one for one in self if owner and one.attributes.get("form") == owner]
        sent = {
            one.attributes["name"]: one.attributes.get("value", "")
            for one in inside
            if one.tag == "input"
            and one.attributes.get("type") != "checkbox"
            and (one.attributes.get("type") != "radio" or "checked" in one.attributes)
        }
        areas = [one for one in inside if one.tag == "textarea"]
        return sent | {one.attributes["name"]: one.raw.removeprefix("\n") for one in areas}

    def buttons(self) -> list[str]:
        return [one.text for one in self.all("button")]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("#page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), (tag, attrs)
        made = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(made)
        if tag not in _VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> ends <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(text: str) -> Element:
    """The page; whatever is not closed as it was opened fails the test."""
    builder = _Builder()
    builder.feed(text)
    builder.close()
    assert len(builder.open) == 1, f"<{builder.open[-1].tag}> is never closed"
    return builder.open[0]
