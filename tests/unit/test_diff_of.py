"""What changes in a payload, line by line."""

from __future__ import annotations

from blueprints.console.amend import diff_of
from blueprints.console.laid_out import laid_out


def test_a_comma_alone_is_no_change() -> None:
    before, after = laid_out(b'{"a":[1,2]}'), laid_out(b'{"a":[1,2],"b":3}')
    changed = [(kind, line[0] + line[1:].strip()) for kind, line in diff_of(before, after) if kind]
    assert changed == [("added", '+"b": 3')]
    changed = [(kind, line[0] + line[1:].strip()) for kind, line in diff_of(after, before) if kind]
    assert changed == [("removed", '-"b": 3')]
    assert list(diff_of(before, before)) == []


def test_lines_that_change_stand_among_those_around_them() -> None:
    before = laid_out(b'{"a":1,"b":2,"c":3,"d":4,"e":"x,"}')
    after = laid_out(b'{"a":1,"b":2,"c":3,"d":5,"e":"x"}')
    assert [(kind, line[0] + line[1:].strip()) for kind, line in diff_of(before, after)] == [
        ("", ' "b": 2,'),
        ("", ' "c": 3,'),
        ("removed", '-"d": 4,'),
        ("removed", '-"e": "x,"'),
        ("added", '+"d": 5,'),
        ("added", '+"e": "x"'),
        ("", " }"),
    ]


def test_a_very_long_one_is_cut() -> None:
    found = list(diff_of("", "\n".join(map(str, range(5_000)))))
    assert found[-1] == ("", "…")
    assert len(found) < 5_000
