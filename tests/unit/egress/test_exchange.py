"""What is sent, byte for byte, and what is made of an answer."""

from __future__ import annotations

import gzip
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante.egress.client import Answer
from restante.egress.policy import Purpose
from restante.egress.refusal import CallFailed, Cause
from tests.unit.egress.canned import OK, CannedLine, Dialled, Names, canned

URL = "https://hooks.example.com:8443/a/../b?x=%2F..&y"


def answer(raw: bytes, *, purpose: Purpose = Purpose.CALLBACK, method: str = "POST") -> Answer:
    return canned(dial=Dialled(raw)).send(method, URL, fields={}, purpose=purpose)


def framed(body: bytes, *fields: str) -> bytes:
    lines = [*fields, f"Content-Length: {len(body)}"]
    return ("HTTP/1.1 200 OK\r\n" + "\r\n".join(lines) + "\r\n\r\n").encode() + body


def test_the_request_byte_for_byte() -> None:
    dial = Dialled()
    canned(dial=dial).send("POST", URL, fields={"X-A": "b c", "User-Agent": "x/1"}, body=b'{"a":1}')
    (line,) = dial.lines
    assert line.sent == (
        b"POST /a/../b?x=%2F..&y HTTP/1.1\r\nHost: hooks.example.com:8443\r\n"
        b"User-Agent: x/1\r\nX-A: b c\r\nContent-Length: 7\r\n"
        b"Accept-Encoding: identity\r\nConnection: close\r\n\r\n"
        b'{"a":1}'
    )
    assert line.closed


def test_a_request_without_a_body_has_no_length() -> None:
    dial = Dialled()
    canned(dial=dial).send("GET", "https://h.example.com", fields={})
    assert dial.lines[0].sent.startswith(
        b"GET / HTTP/1.1\r\nHost: h.example.com\r\nUser-Agent: Res"
    )
    assert b"Content-Length" not in dial.lines[0].sent


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("X", "a\r\nY: b"), ("X", "a\n"), ("X", "é"), ("X", " a"), ("X\r\nY", "a"), ("X:", "a")],
        *[("Host", "h"), ("content-length", "1"), ("Transfer-Encoding", "chunked"), ("", "a")],
        *[("Connection", "keep-alive"), ("Cookie", "a=b"), ("Accept-Encoding", "gzip")],
    ],
)
def test_no_field_that_frames_or_splits_a_message(name: str, value: str) -> None:
    dial = Dialled()
    with pytest.raises(ValueError, match="may not be sent"):
        canned(dial=dial).send("POST", URL, fields={name: value})
    assert dial.addresses == []


def test_no_method_that_splits_a_message() -> None:
    with pytest.raises(ValueError, match="no method"):
        canned().send("GET / HTTP/1.1\r\nX: y\r\n\r\nGET", URL, fields={})


@pytest.mark.parametrize(
    ("purpose", "limit"), [(Purpose.CALLBACK, 4 * 1024), (Purpose.OIDC, 512 * 1024)]
)
@pytest.mark.parametrize("kind", ["length", "chunked", "until the end"])
def test_an_answer_is_read_up_to_its_purposes_limit(
    purpose: Purpose, limit: int, kind: str
) -> None:
    for size, truncated in ((limit, False), (limit + 1, True), (limit * 8, True)):
        body = b"x" * size
        raw = {
            "length": framed(body),
            "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + f"{size:x}\r\n".encode()
            + body
            + b"\r\n0\r\n\r\n",
            "until the end": b"HTTP/1.1 200 OK\r\n\r\n" + body,
        }[kind]
        got = answer(raw, purpose=purpose)
        assert (got.body, got.truncated) == (body[:limit], truncated)


def test_an_answer_is_not_read_beyond_its_limit() -> None:
    class Endless(CannedLine):
        pieces = 0

        def receive(self) -> bytes:
            self.pieces += 1
            head = b"HTTP/1.1 200 OK\r\n\r\n" if self.pieces == 1 else b""
            return head + b"x" * 1000

    line = Endless()
    egress = canned()
    egress._dial = lambda *_: line
    assert egress.send("POST", URL, fields={}).truncated
    assert line.pieces <= 8192 // 1000 + 2


def test_nothing_is_decompressed() -> None:
    bomb = gzip.compress(b"\0" * 2_000_000)
    got = answer(framed(bomb, "Content-Encoding: gzip"))
    assert (got.body, got.truncated) == (bomb, False)


def test_a_redirect_is_an_answer_like_any_other() -> None:
    for status in (300, 301, 302, 303, 307, 308):
        raw = f"HTTP/1.1 {status} X\r\nLocation: https://other.example.com/\r\n\r\n".encode()
        names, dial = Names([["93.184.215.14"]]), Dialled(raw)
        got = canned(names=names, dial=dial).send("POST", URL, fields={})
        assert (got.status, got.ok) == (status, False)
        assert (len(names.asked), len(dial.addresses)) == (1, 1)


def test_no_cookie_is_kept() -> None:
    dial = Dialled(framed(b"", "Set-Cookie: a=b; Path=/"))
    egress = canned(dial=dial)
    for _ in range(2):
        egress.send("POST", URL, fields={})
    assert dial.lines[0].sent == dial.lines[1].sent


def test_the_first_of_each_field_by_its_lower_case_name() -> None:
    got = answer(framed(b"", "Retry-After: 7", "retry-after: 9", "X-B: c"))
    assert got.fields == {"retry-after": "7", "x-b": "c", "content-length": "0"}


def test_interim_answers_are_passed_over() -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    got = answer(interim + OK)
    assert (got.status, got.body) == (200, b"ok")


def test_an_answer_to_head_has_no_body() -> None:
    assert answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", method="HEAD").body == b""


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"hello",
        b"HTTP/1.1",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/2.0 200 OK\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n" + b"a" * 200_000,
        b"HTTP/1.1 103 Early Hints\r\n\r\n" * 50 + OK,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 9_000 + OK,
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 5_000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"e" * 70_000 + b"\r\na\r\n",
        # what a parser that means well makes an answer of
        b"HTTP/1.1 +200 OK\r\n\r\n",
        b"HTTP/1.1 2_00 OK\r\n\r\n",
        b" HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.x 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno field\r\nContent-Length: 9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n folded\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n",
        *(
            b"HTTP/1.1 200 OK\r\nContent-Length: " + length + b"\r\n\r\nok"
            for length in (b"-1", b"+2", b"2_0", b"", b"two", b"2, 3", b"2\r\nContent-Length: 3")
        ),
        *(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: " + coding + b"\r\n\r\n2\r\nok\r\n0\r\n\r\n"
            for coding in (b"gzip, chunked", b"identity", b"chunked, chunked", b"")
        ),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokay\r\n0\r\n\r\n",
    ],
    ids=lambda raw: repr(raw[:70]),
)
def test_what_is_no_answer(raw: bytes) -> None:
    with pytest.raises(CallFailed) as failed:
        answer(raw)
    assert failed.value.cause is Cause.PROTOCOL


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.0 103 \r\n\r\nHTTP/1.1 200\nTransfer-Encoding: Chunked\n\n2;a=b\nok\n0\nX: y\n\n",
        b"HTTP/1.1 410 Gone\r\nX: a\r\n folded\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
    ids=["length", "chunked", "until the end", "none"],
)
def test_an_answer_that_is_cut_off_anywhere_is_none(raw: bytes) -> None:
    assert answer(raw).status in (200, 204, 410)
    for end in range(len(raw)):
        with pytest.raises(CallFailed):
            answer(raw[:end])


def test_a_length_that_is_said_twice_alike_is_one() -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Length : 2, 2\r\ncontent-length: 2\r\n\r\nok and more"
    assert answer(raw).body == b"ok"


@given(
    st.lists(
        st.sampled_from(
            [
                *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 \r\n\r\n", b"HTTP/1.0 204\r\n", b"\r\n"),
                *(b"Content-Length: ", b"Transfer-Encoding: chunked\r\n", b"5\r\n", b"-1\r\n"),
                *(b"0\r\n", b"\n", b"ffffffffffffffff\r\n", b": x\r\n", b" folded\r\n", b"abcde"),
            ]
        )
        | st.binary(max_size=5),
        max_size=12,
    ).map(b"".join)
)
def test_whatever_comes_is_an_answer_or_none(raw: bytes) -> None:
    with suppress(CallFailed):
        got = answer(raw)
        assert 200 <= got.status <= 999
        assert len(got.body) <= 4096


def test_the_line_is_closed_whatever_comes() -> None:
    dial = Dialled(b"nonsense")
    with pytest.raises(CallFailed):
        canned(dial=dial).send("POST", URL, fields={})
    assert dial.lines[0].closed


def test_another_judged_address_is_tried_when_one_takes_no_connection() -> None:
    names = Names([["93.184.215.14", "23.192.228.80", "8.8.8.8"]])
    dial = Dialled(refusing=2)
    got = canned(names=names, dial=dial).send("POST", URL, fields={})
    assert str(got.address) == "8.8.8.8"
    assert dial.addresses == ["93.184.215.14", "23.192.228.80", "8.8.8.8"]


@pytest.mark.parametrize("cause", [Cause.TLS, Cause.TIMEOUT, Cause.PROTOCOL])
def test_no_other_address_is_tried_once_one_has_taken_a_connection(cause: Cause) -> None:
    dial = Dialled(refusing=1, cause=cause)
    with pytest.raises(CallFailed) as failed:
        canned(names=Names([["8.8.8.8", "8.8.4.4"]]), dial=dial).send("POST", URL, fields={})
    assert (failed.value.cause, dial.addresses) == (cause, ["8.8.8.8"])


def test_not_every_address_of_a_long_list_is_tried() -> None:
    dial = Dialled(refusing=100)
    with pytest.raises(CallFailed) as failed:
        canned(names=Names([[f"8.8.8.{i}" for i in range(50)]]), dial=dial).send(
            "POST", URL, fields={}
        )
    assert failed.value.cause is Cause.CONNECT
    assert len(dial.addresses) == 4


def test_an_ipv4_address_mapped_into_ipv6_is_dialled_as_itself() -> None:
    dial = Dialled()
    names = Names([["::ffff:8.8.8.8", "8.8.8.8"]])
    canned(names=names, dial=dial).send("POST", URL, fields={})
    assert dial.addresses == ["8.8.8.8"]
