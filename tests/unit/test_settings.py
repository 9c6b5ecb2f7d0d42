"""Settings from the environment, tables of our own, and work that is done once."""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.settings import Settings
from gpusizer.core.tables import MalformedTable, TableRow, read_table
from scrapers.cache.single_flight import SingleFlight


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HOME": "/home/me"}, "/home/me/.cache/gpusizer"),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "/c"}, "/c/gpusizer"),
        ({"HOME": "/home/me", "GPUSIZER_CACHE_DIR": "/x"}, "/x"),
        ({"HOME": "/home/me", "GPUSIZER_CACHE_DIR": "off"}, None),
        ({"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, "/home/me/.cache/gpusizer"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep caches elsewhere")
def test_cache_folder(
    environment: dict[str, str], folder: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    cache_folder = Settings.from_environment(os.environ).cache_folder
    assert cache_folder == (None if folder is None else Path(folder))


@pytest.mark.parametrize(
    "variable, value",
    [
        ("HF_ENDPOINT", "huggingface.co"),
        ("HF_ENDPOINT", "ftp://huggingface.co"),
        ("HF_ENDPOINT", "https://user:secret@huggingface.co"),
        ("HF_ENDPOINT", "https://huggingface.co:port"),
        ("HF_ENDPOINT", "https://huggingface.co/?x=1"),
        ("GPUSIZER_CDN_ORIGINS", "cdn.example"),
        ("GPUSIZER_TIMEOUT_SECONDS", "soon"),
        ("GPUSIZER_TIMEOUT_SECONDS", "0"),
        ("GPUSIZER_TIMEOUT_SECONDS", "nan"),
        ("GPUSIZER_TIMEOUT_SECONDS", "inf"),
        ("GPUSIZER_LOG", "xml"),
        ("GPUSIZER_CACHE_MB", "-1"),
        ("GPUSIZER_CACHE_MB", "lots"),
    ],
)
def test_unusable_value_is_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Settings.from_environment({variable: value})
    assert caught.value.fields["field"] == variable


def test_a_space_has_one_proxy_unless_it_says_otherwise() -> None:
    """The Hub sets SYSTEM there; its connections come from an internal address."""
    space = {"SYSTEM": "spaces"}
    assert Settings.from_environment({}).trusted_proxies == 0
    assert Settings.from_environment(space).trusted_proxies == 1
    for number in ("0", "2"):
        told = Settings.from_environment(space | {"GPUSIZER_TRUSTED_PROXIES": number})
        assert told.trusted_proxies == int(number)


def write(folder: Path, *lines: str) -> Path:
    path = folder / "cards.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def card(row: TableRow) -> tuple[str, int, float, bool, tuple[str, ...], int | None]:
    return (
        row.text("name"),
        row.integer("boards"),
        row.number("gb"),
        row.flag("sold"),
        row.parts("aliases", "|"),
        row.optional("watts", int),
    )


@dataclass(frozen=True)
class Card:
    name: str
    boards: int
    gb: float
    sold: bool
    aliases: tuple[str, ...]
    watts: int | None
    memory_bytes: int


HEADER = "name,boards,gb,sold,aliases,watts"


def test_typed_rows_in_file_order(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER, "a,2,1.5,true,x|y,300", "", '"b, c",1,3,false,,')
    assert read_table(path, card) == (
        ("a", 2, 1.5, True, ("x", "y"), 300),
        ("b, c", 1, 3.0, False, (), None),
    )


def test_a_record_reads_its_fields_by_their_types(tmp_path: Path) -> None:
    """Two cards of 1.5 GB and one of 3; what is given needs no column."""
    path = write(tmp_path, HEADER, "a,2,1.5,true,x|y,300", "b,1,3,false,,")
    cards = read_table(
        path, lambda row: row.record(Card, memory_bytes=round(row.number("gb") * 1e9))
    )
    assert cards == (
        Card("a", 2, 1.5, True, ("x", "y"), 300, 1_500_000_000),
        Card("b", 1, 3.0, False, (), None, 3_000_000_000),
    )
    with pytest.raises(MalformedTable, match="line 2: field memory_bytes: no such column"):
        read_table(path, lambda row: row.record(Card))


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("a,two,1,true,,", "cards.csv, line 3: field boards: invalid literal"),
        ("a,2,wide,true,,", "cards.csv, line 3: field gb: could not convert"),
        ("a,2,1,yes,,", "cards.csv, line 3: field sold: 'yes' is neither true nor false"),
        ("a,2,1,true,,much", "cards.csv, line 3: field watts: invalid literal"),
        ("a,2,1,true", "cards.csv, line 3: 6 fields expected, 4 given"),
    ],
)
def test_an_unreadable_row_is_named(tmp_path: Path, row: str, complaint: str) -> None:
    path = write(tmp_path, HEADER, "a,2,1.5,true,x|y,300", row)
    with pytest.raises(MalformedTable, match=complaint):
        read_table(path, card)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "name,boards", "a,2")
    with pytest.raises(MalformedTable, match=r"cards\.csv, line 2: field gb: no such column"):
        read_table(path, card)
    with pytest.raises(MalformedTable, match=r"cards\.csv, line 1: missing columns \['gb'\]"):
        read_table(path, card, ("name", "gb"))


def test_results_are_cached_for_a_while() -> None:
    now, computed_keys = [0.0], list[str]()
    single_flight = SingleFlight[str, int](
        lambda key: computed_keys.append(key) or len(computed_keys), clock=lambda: now[0]
    )
    assert (single_flight("a"), single_flight("a"), single_flight("b")) == (1, 1, 2)
    now[0] = 599.0
    assert single_flight("a") == 1
    now[0] = 600.0
    assert single_flight("a") == 3


def test_failures_are_not_cached() -> None:
    outcomes = [ValueError("first"), None]

    def compute(key: str) -> str:
        error = outcomes.pop(0)
        if error:
            raise error
        return key

    single_flight = SingleFlight[str, str](compute)
    with pytest.raises(ValueError, match="first"):
        single_flight("a")
    assert single_flight("a") == "a"


def test_simultaneous_calls_share_one_computation() -> None:
    started, release, calls = threading.Event(), threading.Event(), list[str]()

    def compute(key: str) -> str:
        calls.append(key)
        started.set()
        assert release.wait(60)
        return key.upper()

    single_flight = SingleFlight[str, str](compute)
    with ThreadPoolExecutor(8) as pool:
        first = pool.submit(single_flight, "a")
        assert started.wait(60)
        others = [pool.submit(single_flight, "a") for _ in range(7)]
        release.set()
        assert {future.result(60) for future in (first, *others)} == {"A"}
    assert calls == ["a"]


@pytest.mark.parametrize(
    ("max_bytes", "asked", "computed"),
    [
        (10, "aaaa bbbb aaaa cccc aaaa bbbb", "aaaa bbbb cccc bbbb"),
        (3, "large large a large", "large a large"),  # one alone stays until the next
    ],
)
def test_the_least_recently_used_results_go_when_all_are_too_large(
    max_bytes: int, asked: str, computed: str
) -> None:
    computed_keys = list[str]()
    single_flight = SingleFlight[str, str](
        lambda key: computed_keys.append(key) or key, weigh=len, max_bytes=max_bytes
    )
    for key in asked.split():
        single_flight(key)
    assert computed_keys == computed.split()


def test_an_expired_result_gives_its_room_back() -> None:
    now, computed_keys = [0.0], list[str]()
    single_flight = SingleFlight[str, str](
        lambda key: computed_keys.append(key) or key,
        weigh=len,
        max_bytes=2,
        clock=lambda: now[0],
    )
    single_flight("a")
    now[0] = 600.0
    for key in "aba":
        single_flight(key)
    assert computed_keys == ["a", "a", "b"]
