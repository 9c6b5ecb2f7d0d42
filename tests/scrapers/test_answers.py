"""HttpAnswer: heads and bodies as they arrive, whole, broken, or hardly at all."""

from __future__ import annotations

import gzip
import io
import itertools
from collections.abc import Iterator

import pytest

from scrapers.answers import BrokenAnswer, CutAnswer, HttpAnswer


def read(answer: HttpAnswer, size: int = 2**16) -> bytes:
    try:
        return b"".join(iter(lambda: answer.read1(size), b""))
    finally:
        answer.close()


def answer_of(head: str, body: bytes, most: int = 2**16) -> tuple[HttpAnswer, list[bool]]:
    """An answer of which `most` bytes arrive at once, and what was told of its end."""
    wire = io.BytesIO(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + body)
    whole: list[bool] = []
    return HttpAnswer(lambda size, until: wire.read(min(size, most)), 1.0, whole.append), whole


TEXT = b"0123456789" * 500


@pytest.mark.parametrize("size", [1, 7, 2**16])
@pytest.mark.parametrize(
    ("head", "body"),
    [
        (f"Content-Length: {len(TEXT)}\r\n", TEXT),
        ("Transfer-Encoding: chunked\r\n", b"7\r\n%b\r\n" % TEXT[:7] + b"1381\r\n%b\r\n0\r\n\r\n"),
        ("Content-Encoding: gzip\r\nContent-Length: {}\r\n", gzip.compress(TEXT)),
        (
            "Content-Encoding: GZIP\r\nContent-Length: {}\r\n",
            gzip.compress(TEXT[:9]) + gzip.compress(b"") + gzip.compress(TEXT[9:]),
        ),
    ],
    ids=["length", "chunked", "gzip", "three times gzip"],
)
def test_bodies(head: str, body: bytes, size: int) -> None:
    body = body % TEXT[7:] if b"%b" in body else body
    answer, whole = answer_of(head.format(len(body)), body)
    assert read(answer, size) == TEXT
    assert whole == [True]


@pytest.mark.parametrize(
    ("head", "body", "error"),
    [
        ("Content-Length: 9\r\n", b"short", CutAnswer),
        ("Transfer-Encoding: chunked\r\n", b"9\r\nshort", CutAnswer),
        ("Content-Encoding: gzip\r\n", gzip.compress(TEXT)[:-12], CutAnswer),
        ("Content-Encoding: gzip\r\n", gzip.compress(TEXT) + b"more", BrokenAnswer),
        ("Content-Encoding: gzip\r\n", b"no gzip", BrokenAnswer),
    ],
)
def test_broken_bodies(head: str, body: bytes, error: type[Exception]) -> None:
    answer, whole = answer_of(head, body)
    with pytest.raises(error):
        read(answer)
    assert whole == [False]


def test_a_bomb_goes_off_slowly() -> None:
    bomb = gzip.compress(bytes(10**8))
    answer, whole = answer_of(f"Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n", bomb)
    assert len(answer.read1(1000)) <= 1000
    answer.close()
    assert whole == [False]


@pytest.mark.parametrize(
    "more", [b"\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 4"]
)
def test_more_than_was_asked_for_is_not_kept(more: bytes) -> None:
    answer, whole = answer_of("Content-Length: 2\r\n", b"hi" + more)
    assert (answer.status, read(answer)) == (200, b"hi")
    assert whole == [False]


@pytest.mark.parametrize("most", [1, 2**16])
def test_interim_answers_are_passed_over(most: int) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nX-Repo-Commit: early\r\n\r\n"
    wire = io.BytesIO(early + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
    whole: list[bool] = []
    answer = HttpAnswer(lambda size, until: wire.read(most), 1.0, whole.append)
    assert (answer.status, dict(answer.headers)) == (200, {"content-length": "2"})
    assert (read(answer), whole) == (b"hi", [True])


def test_of_headers_of_one_name_the_first_counts_and_trailers_do_not() -> None:
    head = "X-Repo-Commit: a\r\nx-repo-commit: b\r\nTransfer-Encoding: chunked\r\n"
    answer, _ = answer_of(head, b"2\r\nhi\r\n0\r\nLocation: elsewhere\r\n\r\n")
    assert read(answer) == b"hi"
    assert answer.headers.get("x-REPO-commit") == "a"
    assert "Location" not in answer.headers


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "no answer"),
        (b"HTTP/1.1 200 OK\r\nContent-", "no answer"),
        (b"SSH-2.0-OpenSSH\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nhi", "not HTTP"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 2**14, "endless head"),
    ],
)
def test_heads_that_are_none(answer: bytes, why: str) -> None:
    wire = io.BytesIO(answer)
    with pytest.raises(BrokenAnswer, match=why):
        HttpAnswer(lambda size, until: wire.read(min(size, 999)), 1.0, lambda whole: None)


class Dripping:
    """A wire on which a byte comes every ten seconds of its own clock."""

    def __init__(self, sent: Iterator[int], monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent, self.now = sent, 0.0
        monkeypatch.setattr("scrapers.answers.time.monotonic", lambda: self.now)

    def __call__(self, size: int, until: float) -> bytes:
        self.now += 10
        if self.now > until:
            raise TimeoutError
        return bytes([next(self.sent)])


def test_a_head_and_a_chunk_that_drip_take_their_time_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TimeoutError):
        HttpAnswer(Dripping(itertools.cycle(b"HTTP"), monkeypatch), 25.0, lambda whole: None)
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    wire = Dripping(itertools.chain(head, itertools.cycle(b"0")), monkeypatch)
    answer = HttpAnswer(wire, 10.0 * len(head), lambda whole: None)
    with pytest.raises(TimeoutError):
        answer.read1(100)


def test_gzip_that_drips_takes_its_time_once(monkeypatch: pytest.MonkeyPatch) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
    wire = Dripping(itertools.chain(head, itertools.cycle(gzip.compress(b""))), monkeypatch)
    answer = HttpAnswer(wire, 10.0 * len(head), lambda whole: None)
    started = wire.now
    with pytest.raises(TimeoutError):
        answer.read1(100)
    assert wire.now - started <= 10.0 * len(head) + 10


def test_an_answer_that_closes_is_not_kept() -> None:
    answer, whole = answer_of("Connection: close\r\nContent-Length: 2\r\n", b"hi")
    assert read(answer) == b"hi"
    assert whole == [False]


def test_gzip_of_nothing_ends() -> None:
    empty = gzip.compress(b"")
    answer, _ = answer_of("Content-Encoding: gzip\r\n", empty * 2000, most=len(empty))
    with pytest.raises(BrokenAnswer, match="gzip of nothing"):
        answer.read1(100)
