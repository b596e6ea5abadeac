"""Page tokens are good for their list, under the newest secret key and the one before it."""

from __future__ import annotations

import pytest
from sqlalchemy.orm import Session

from restante.errors import PageTokenInvalid
from restante.storage.page_token import PAGE_TOKEN_KEYS, give, take

OLD, NEW = b"o" * 32, b"n" * 32
LIST = ("receipts", "c")


def session(*keys: bytes) -> Session:
    return Session(info={PAGE_TOKEN_KEYS: keys})


def test_a_list_goes_on_while_the_secret_key_is_changed() -> None:
    before, between, after = session(OLD), session(NEW, OLD), session(NEW)
    token = give(before, LIST, [7])
    assert take(between, LIST, token) == [7]
    assert take(after, LIST, give(between, LIST, [8])) == [8]
    with pytest.raises(PageTokenInvalid):
        take(after, LIST, token)
    with pytest.raises(PageTokenInvalid):
        take(between, ("receipts", "d"), token)


def test_one_text_is_the_token_and_no_other_that_decodes_alike() -> None:
    for position in ([7], [77], [777]):
        token = give(session(NEW), LIST, position)
        others = [token + "=" * n for n in (1, 2, 3)]
        last = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        others += [token[:-1] + letter for letter in last if letter != token[-1]]
        for other in others:
            with pytest.raises(PageTokenInvalid):
                take(session(NEW), LIST, other)
