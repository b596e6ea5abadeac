from __future__ import annotations

import pytest

from restante.errors import ValidationFailed
from restante.inbox.redaction import check_rules, places, redact, written


def told(payload: bytes, *rules: str) -> str:
    return redact(payload, rules).decode().replace("\0", "#")


@pytest.mark.parametrize(
    ("payload", "rule", "expected"),
    [
        (b'{"a": 1.50, "b":"x"}', "/b", '{"a":1.50,"b":#/b#}'),
        (b'{"b":{"c":[1,{"d":2}]},"e":3}', "/b", '{"b":#/b#,"e":3}'),
        (b'{"b":{"c":[1,{"d":2}]},"e":3}', "/b/c/1/d", '{"b":{"c":[1,{"d":#/b/c/1/d#}]},"e":3}'),
        (
            b'{"l":[{"p":1},{"q":2},{"p":3}]}',
            "/l/*/p",
            '{"l":[{"p":#/l/*/p#},{"q":2},{"p":#/l/*/p#}]}',
        ),
        (b'{"l":[1,[2],3]}', "/l/1", '{"l":[1,#/l/1#,3]}'),
        (b'{"a/b":1,"c~d":2}', "/a~1b", '{"a/b":#/a~1b#,"c~d":2}'),
        (b'{"\\u0062":1}', "/b", '{"\\u0062":#/b#}'),
        (b'{"b":1,"b":2}', "/b", '{"b":#/b#,"b":#/b#}'),
        (b'{"a":"{\\"b\\":1}"}', "/b", '{"a":"{\\"b\\":1}"}'),
        (b'{"a":{"b":1}}', "/b", '{"a":{"b":1}}'),
        (b'{"a":{},"b":[],"c":true}', "/c", '{"a":{},"b":[],"c":#/c#}'),
        (b'{"a":{"x":1},"b":2}', "/*", '{"a":#/*#,"b":#/*#}'),
        (b'{"b":"secret"', "/z", "#/z#"),
        (b"\xff", "/z", "#/z#"),
    ],
)
def test_a_value_is_kept_back_by_where_it_stands(payload: bytes, rule: str, expected: str) -> None:
    assert told(payload, rule) == expected


def test_without_rules_it_is_as_it_was_received() -> None:
    assert redact(b'{ "a" : 1.0 }', ()) == b'{ "a" : 1.0 }'


def test_every_value_has_a_place() -> None:
    found = [path for _, path in places('{"a":[1,{"b":null}],"c":"x"}') if path is not None]
    assert found == [(), ("a",), ("a", "0"), ("a", "1"), ("a", "1", "b"), ("c",)]


@pytest.mark.parametrize(
    "rule", ["", "a", "/", "/a//b", "/a~2", "/a\0", "/" + "x" * 200, "/\u202e"]
)
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(ValidationFailed):
        check_rules([rule], pointer="/redacted_paths")


def test_rules_are_sorted_and_not_too_many() -> None:
    assert check_rules(["/b", "/a/*", "/b"], pointer="") == ("/a/*", "/b")
    with pytest.raises(ValidationFailed):
        check_rules([f"/{n}" for n in range(51)], pointer="")


@pytest.mark.parametrize(
    ("patch", "rule", "writes"),
    [
        ({"a": {"b": 1}}, "/a/b", True),
        ({"a": {"b": None}}, "/a/b", True),
        ({"a": {"b": {"c": 1}}}, "/a/b", True),
        ({"a": None}, "/a/b", True),
        ({"a": 7}, "/a/b", True),
        ({"a": [{"b": 1}]}, "/a/b", True),
        ({"a": {"c": 1}}, "/a/b", False),
        ({"b": 1}, "/a/b", False),
        ({}, "/*", False),
        ({"b": 1}, "/*", True),
        ({"b": {"c": 1}}, "/*/d", False),
        ({"lines": {}}, "/lines/*/price", True),
        ({"lines": {"x": {"y": 1}}}, "/lines/0/price", True),
        ({"lines": []}, "/lines/*/price", True),
        ({"a/b": {"~": 1}}, "/a~1b/~0", True),
    ],
)
def test_whether_a_merge_patch_writes_what_is_redacted(
    patch: object, rule: str, *, writes: bool
) -> None:
    assert written(patch, ["/else", rule]) == (rule if writes else None)
