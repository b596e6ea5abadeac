"""What is sent where something sensible belongs: raw JSON values, and texts for everywhere else.

Probes carry MARK. A statement's text that has it was put together from input; an answer that has
PRODUCT was rendered as a template; HTML that has ELEMENT was not escaped.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from functools import cache

MARK = "zq7x"
PRODUCT = "1787569"
ELEMENT = f"<{MARK}"
FIELD = f"X-{MARK}"
CONTROLS = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0))]
PLAIN = frozenset(string.ascii_letters.encode() + string.digits.encode())
DEEP = (65, 1_000, 100_000)
LONG = 70_000
"""More than a TEXT column of MySQL holds, and less than any limit of a body."""

INJECTIONS = (
    f"' OR '{MARK}'='{MARK}",
    f"'; DROP TABLE tenant; -- {MARK}",
    f'" OR "{MARK}"="{MARK}',
    f"{MARK}' UNION SELECT client_secret, 1, 2 FROM credential -- ",
    f"{MARK}\\' OR 1=1 #",
    f"{MARK}` OR `1`=`1",
    f"{MARK}' AND SLEEP(30) AND '1'='1",
    f"{MARK}' || randomblob(1000000000) || '",
    f"1 AND 1=1 /* {MARK} */",
    f"{MARK}%' OR 1 LIKE '_%",
    f"{MARK}\xbf' OR 1=1 -- ",
    f":{MARK} %({MARK})s %s ? $1",
)
TEMPLATES = (
    f"{MARK}{{{{1337*1337}}}}",
    f"{MARK}{{% print 1337*1337 %}}",
    f"{MARK}${{1337*1337}}",
    f"{MARK}#{{1337*1337}}",
    f"{MARK}<%= 1337*1337 %>",
    f"{MARK}{{{{''.__class__.__mro__[1].__subclasses__()}}}}",
    f"{MARK}{{0.__class__.__init__.__globals__}}",
    f"{MARK}%(password)s%n%s",
)
MARKUP = (
    f'"><{MARK} onload=alert(1)>',
    f"'><{MARK}>",
    f"</script></textarea></title><{MARK}>",
    f"javascript:alert('{MARK}')",
)
LINES = (
    f"{MARK}\r\n{FIELD}: 1",
    f"{MARK}\n{FIELD}: 1\n\n",
    f"{MARK}\u2028\u2029\u0085",
)
TEXTS = (
    "",
    " ",
    "\xa0",
    "\ufeff",
    "\uffff",
    "\u202egpj",
    "a\u0300" * 200,
    "\U0001f4a9" * 201,
    "\u0130\u0131\u1e9e",
    "../../../../etc/passwd",
    "..%2f..%2f%00",
    "%",
    "%s%n%x",
    "null",
    "true",
    "[]",
    "{}",
    "-1",
    "0",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "9" * 5_000,
    "1e400",
    "NaN",
    "Infinity",
    "\u0661\u0662",
    "2031-02-30T25:61:61Z",
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:59.9999999+23:59",
    "1969-12-31T23:59:60Z",
    "x" * LONG,
)
PROBES = (*INJECTIONS, *TEMPLATES, *MARKUP, *LINES)
NUMBERS = (
    *("-0", "-1", "1.5", "1e2", "1e308", "1e400", "-1e400", "1e-400", "0.1e1"),
    *("9007199254740993", "9223372036854775807", "9223372036854775808", "-9223372036854775809"),
    *("18446744073709551616", "1" + "0" * 400, "1" + "0" * 40_000, "0." + "1" * 40_000),
    *("NaN", "Infinity", "-Infinity", "01", "+1", "0x10", "1_0", ".5", "5."),
)
BROKEN_STRINGS = (
    rb'"\ud800"',
    rb'"\udc00\ud800"',
    rb'"\u0000"',
    rb'"\x41"',
    rb'"\u12"',
    b'"\xed\xa0\x80"',
    b'"\xc0\x80"',
    b'"\xf4\x90\x80\x80"',
    b'"\xff"',
    b'"a\x00b"',
    b'"a\nb"',
    b"'a'",
    b'"a',
)


def nested(levels: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    """So many arrays, or objects where `opening` names a member, in one another."""
    inner = b"" if opening == b"[" else b"1"
    return opening * levels + inner + closing * levels


def quoted(text: str) -> bytes:
    """A JSON string with everything but ASCII escaped, so that any code point can be sent."""
    written = "".join(c if " " <= c <= "~" and c not in '"\\' else _escaped(c) for c in text)
    return f'"{written}"'.encode()


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


@cache
def values() -> tuple[bytes, ...]:
    """JSON values and what is none, for any member."""
    return tuple(_values())


@cache
def texts() -> tuple[str, ...]:
    """For paths, queries, forms and fields: what percent-encoding can carry."""
    return (*PROBES, *TEXTS, *(f"a{control}b" for control in CONTROLS))


def _values() -> Iterator[bytes]:
    yield from (number.encode() for number in NUMBERS)
    yield from BROKEN_STRINGS
    yield from (b"null", b"true", b"false", b"[]", b"{}", b"[[]]", b"[{}]", b'[""]', b"[null]")
    yield from (nested(levels) for levels in DEEP)
    yield from (nested(levels, b'{"a":', b"}") for levels in DEEP)
    yield from (b"[" + b"0," * 20_000 + b"0]", b"{" + b'"a":0,' * 1_000 + b'"a":0}', b"", b"//")
    yield b"{" + b",".join(b'"%d":0' % n for n in range(20_000)) + b"}"
    yield from (quoted(text) for text in (*PROBES, *TEXTS))
    yield from (quoted(f"a{control}b") for control in CONTROLS)


def encoded(text: str) -> str:
    """Every byte of it percent-encoded, but for letters and digits."""
    raw = text.encode("utf-8", "surrogatepass")
    return "".join(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in raw)


NO_TEXTS = ("%ff%fe", "%ed%a0%80", "%c0%ae%c0%ae%2f", "%", "%zz", "%u0041", "%00", "+", "a%0")
"""Percent-encoded octets that are no text."""


SEGMENTS = (".", "..", "%2e%2e", "%2f", "", "a/b", ";a=b", "%2e%2e%2f" * 200)
"""For a path alone."""
NAMES = ("__proto__", "__class__", "constructor", "", "a" * LONG, MARK, "\udcff", "recipients ")
"""Of members that nothing has."""
ALL_CONTROLS = quoted("a" + "".join(CONTROLS) + "b")
