"""The text that is signed (RFC 9421, section 2.5)."""

from __future__ import annotations

from http_message_signatures import HTTPSignatureComponentResolver
from http_message_signatures.exceptions import HTTPMessageSignaturesException
from http_sf.compat import Item

from restante.identity.signatures.fields import Component, Offered
from restante.identity.signatures.message import Message, field_value
from restante.identity.signatures.refusals import SignatureComponentInvalid

_UNFIT = frozenset(map(chr, (*range(9), *range(10, 32), 127)))


def signature_base(offered: Offered, message: Message) -> bytes:
    """What the signature is of. Raises SignatureComponentInvalid.

    Components that stand twice, are not lower case, or are not in the request have no line in it.
    """
    lines = []
    seen = set()
    for component in offered.components:
        if component.identity in seen:
            raise SignatureComponentInvalid(f"The component {component} is covered twice.")
        seen.add(component.identity)
        lines.append(f"{component}: {component_value(component, message)}")
    lines.append(f'"@signature-params": {offered.text}')
    text = "\n".join(lines)
    if not text.isascii():
        raise SignatureComponentInvalid("The signature covers text that is not ASCII.")
    return text.encode()


def component_value(component: Component, message: Message) -> str:
    """The value of one component. Raises SignatureComponentInvalid."""
    value = _plain_value(component.name, message) if not component.parameters else None
    if value is None:
        value = _special_value(component, message)
    if not _UNFIT.isdisjoint(value):
        raise SignatureComponentInvalid(
            f"The component {component} has control characters in its value."
        )
    return value


def _plain_value(name: str, message: Message) -> str | None:
    """What nearly every component is; None for those that the library knows."""
    match name:
        case "@method":
            return message.method
        case "@authority":
            return message.authority
        case "@path":
            return message.path
        case "@query":
            return message.query
    if name != name.lower() or name.startswith("@") or name not in message.fields:
        return None
    return field_value(message.fields[name])


def _special_value(component: Component, message: Message) -> str:
    item = Item(component.name)
    item.params.update(component.parameters)
    if component.name != component.name.lower():
        raise SignatureComponentInvalid(f"The component {component} is not in lower case.")
    try:
        resolver = HTTPSignatureComponentResolver(_Adapted(message))  # type: ignore[no-untyped-call] # it has no types
        return str(resolver.resolve(item))
    except (HTTPMessageSignaturesException, TypeError, ValueError, KeyError):
        # a parameter that a derived component does not know is a TypeError of the library's
        raise SignatureComponentInvalid(
            f"The component {component} is none of this request."
        ) from None


class _Adapted:
    """A message as the library takes it."""

    def __init__(self, message: Message) -> None:
        self.method = message.method
        self.url = message.url
        self.request_target = message.target
        self.headers = _Lines(message)


class _Lines:
    """The library asks for the lines of fields, and whether there is one."""

    def __init__(self, message: Message) -> None:
        self._lines = [
            (name, field_value((line,))) for name, lines in message.fields.items() for line in lines
        ]

    def items(self) -> list[tuple[str, str]]:
        return self._lines
