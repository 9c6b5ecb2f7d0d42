"""Units, messages and errors of `gpusizer.core`: small things with stable shapes."""

from __future__ import annotations

import inspect
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core import errors
from gpusizer.core.errors import (
    GpusizerError,
    InvalidRequest,
    ModelUnreadable,
    RequestTooLarge,
    ServerBusy,
    TooManyRequests,
)
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, MIB, format_count, format_gb, format_gib, significant
from tests.each import each


@each(
    "amount, gb, gib",
    [
        (16_060_522_496, "16.1 GB", "15.0 GiB"),  # Llama-3.1-8B in BF16
        (688_574_839_360, "689 GB", "641 GiB"),  # DeepSeek-R1
        (1_503_264_768, "1.50 GB", "1.40 GiB"),  # Qwen3-0.6B
        (24 * GIB, "25.8 GB", "24.0 GiB"),  # a 24 GiB card
        (2_000_000_000_000, "2,000 GB", "1,863 GiB"),
        (99_960_000_000, "100 GB", "93.1 GiB"),  # rounding never adds a fourth digit
        (9_996_000_000, "10.0 GB", "9.31 GiB"),
        (0, "0.00 GB", "0.00 GiB"),
        (-1_500_000_000, "-1.50 GB", "-1.40 GiB"),  # a shortfall
    ],
)
def test_sizes_in_words(amount: int, gb: str, gib: str) -> None:
    assert (format_gb(amount), format_gib(amount)) == (gb, gib)


def test_decimal_and_binary_units_differ() -> None:
    assert (GB, GIB, MIB) == (1_000_000_000, 1_073_741_824, 1_048_576)


@pytest.mark.parametrize(
    ("value", "shown"), [(1234.5, 1230.0), (0.0123456, 0.0123), (999.6, 1000.0), (-7.0, -7.0)]
)
def test_three_digits(value: float, shown: float) -> None:
    assert significant(value) == shown


@each(
    "count, text",
    [
        (8_030_261_248, "8.03B"),
        (684_489_845_504, "684B"),
        (1_026_408_232_448, "1.03T"),
        (596_049_920, "596M"),
        (131_072, "131K"),
        (999, "999"),
        (0, "0"),
        (1_000, "1K"),
        (999_900, "1M"),
        (999_499, "999K"),
        (999_960_000_000, "1T"),
        (1_234_000_000_000_000, "1234T"),
        (-2_500, "-2.5K"),
    ],
)
def test_counts_in_words(count: int, text: str) -> None:
    assert format_count(count) == text


@given(st.integers(1, 10**15))
def test_a_count_in_words_is_close_to_the_count(count: int) -> None:
    text = format_count(count)
    factor = {"T": 1e12, "B": 1e9, "M": 1e6, "K": 1e3}.get(text[-1], 1)
    assert math.isclose(float(text.rstrip("TBMK")) * factor, count, rel_tol=0.006)


@given(st.integers(10**7, 10**15))
def test_gigabytes_in_words_are_close_to_the_amount(amount: int) -> None:
    value = float(format_gb(amount).removesuffix(" GB").replace(",", ""))
    assert math.isclose(value * GB, amount, rel_tol=0.006, abs_tol=0.005 * GB)


def test_notes_are_values() -> None:
    note = Note("already_quantized", method="awq", bits=4)
    same = Note("already_quantized", bits=4, method="awq")
    assert note == same
    assert hash(note) == hash(same)
    assert note != Note("already_quantized", method="awq", bits=8)
    assert note != "already_quantized"
    assert repr(note) == "Note('already_quantized', {'method': 'awq', 'bits': 4})"


FIELD_NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
NOTE_VALUES = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False))


@given(st.text(), st.dictionaries(FIELD_NAMES, NOTE_VALUES))
def test_notes_survive_json(code: str, fields: dict[str, str | int | float]) -> None:
    note = Note(code, **fields)
    assert Note.from_json(json.loads(json.dumps(note.to_json()))) == note


ERRORS = [
    item
    for item in vars(errors).values()
    if inspect.isclass(item) and issubclass(item, GpusizerError)
]
ABSTRACT = {GpusizerError, ModelUnreadable}


def test_every_error_has_its_own_code() -> None:
    codes = [error.code for error in ERRORS if error not in ABSTRACT]
    assert sorted(codes) == sorted(set(codes))
    assert "internal" not in codes


@each("error", ERRORS)
def test_exit_codes_tell_bad_questions_from_bad_repositories(error: type[GpusizerError]) -> None:
    expected = 2 if issubclass(error, InvalidRequest) else 3
    never_in_the_shell = (GpusizerError, ServerBusy, TooManyRequests, RequestTooLarge)
    assert error.exit_code == (1 if error in never_in_the_shell else expected)


def test_an_error_carries_its_facts() -> None:
    error = errors.LimitsExceeded(repo_id="a/b", limit="header_bytes", allowed=100)
    assert error.fields == {"repo_id": "a/b", "limit": "header_bytes", "allowed": 100}
    assert str(error).startswith("limits_exceeded")
