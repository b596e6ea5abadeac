"""The texts of the hot paths' statements: what is left out of them must not change what they say."""

from __future__ import annotations

import pytest

from restante.storage import statement
from restante.storage.statement import literal, stretch


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([4], "BETWEEN 4 AND 4"),
        ([6, 4, 5], "BETWEEN 4 AND 6"),
        ([4, 6], "IN (4,6)"),
        ([1, 2, 4, 5], "IN (1,2,4,5)"),
    ],
)
def test_numbers_without_a_gap_are_read_as_one_stretch(numbers: list[int], text: str) -> None:
    assert literal(None, stretch(numbers)) == text


def test_what_rows_have_in_common_is_said_once_and_means_the_same() -> None:
    columns = [
        statement._literals(None, c) for c in ((7, 7, 7), (1, 2, 3), (b"a%s", b"a%s", b"a%s"))
    ]
    assert columns == ["7", ["1", "2", "3"], "X'612573'"]
    assert statement._filled_in(columns, 3) == [f"(7,{n},X'612573')" for n in (1, 2, 3)]
    assert statement._filled_in(["7", "'50%'"], 2) == ["(7,'50%')"] * 2


def test_long_bytes_are_a_variable_where_that_leaves_out_enough() -> None:
    long = "X'" + "61" * statement.COMMON_BYTES + "'"
    for rows, taken in ((1, {}), (2, {"@restante_1": long})):
        columns: list[str | list[str]] = ["7", long]
        assert statement._taken_out(columns, rows) == taken
        assert columns[1] == (next(iter(taken)) if taken else long)


def test_an_insert_is_cut_where_it_would_be_too_long() -> None:
    texts = ["x" * statement.TEXT_BYTES, "a", "b", "y" * statement.TEXT_BYTES, "c"]
    parts = list(statement._parts(texts))
    assert [text for part in parts for text in part] == texts
    assert [len(part) for part in parts] == [1, 2, 1, 1]
