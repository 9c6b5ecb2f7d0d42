"""Amounts, bands, element types and printable text."""

from __future__ import annotations

import inspect
import json
import logging
import math
import subprocess
import sys
import unicodedata

import gguf
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core import errors
from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted, total
from gpusizer.core.dtypes import (
    DTYPE_BITS,
    GGML_BLOCKS,
    GGML_TYPES,
    bits_per_element,
    nominal_bits,
    stored_bytes,
)
from gpusizer.core.errors import (
    GpusizerError,
    InvalidRequest,
    ModelUnreadable,
    RequestTooLarge,
    RequestTooSlow,
    ServerBusy,
    SignInFailed,
    TooManyRequests,
    UnknownEvent,
)
from gpusizer.core.messages import Note
from gpusizer.core.printable import REPLACEMENT, PrintableFormatter, json_text, printable
from gpusizer.core.units import GB, GIB, format_count, format_gb, format_gib, significant
from tests.poison import POISON, SIGN, hidden


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    ("value", "shown"), [(1234.5, 1230.0), (0.0123456, 0.0123), (999.6, 1000.0), (-7.0, -7.0)]
)
def test_three_digits(value: float, shown: float) -> None:
    assert significant(value) == shown


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("error", ERRORS)
def test_exit_codes_tell_bad_questions_from_bad_repositories(error: type[GpusizerError]) -> None:
    expected = 2 if issubclass(error, InvalidRequest) else 3
    never_in_the_shell = (
        *(GpusizerError, ServerBusy, TooManyRequests, SignInFailed, UnknownEvent),
        *(RequestTooLarge, RequestTooSlow),
    )
    assert error.exit_code == (1 if error in never_in_the_shell else expected)


def test_an_error_carries_its_facts() -> None:
    error = errors.LimitsExceeded(repo_id="a/b", limit="header_bytes", allowed=100)
    assert error.fields == {"repo_id": "a/b", "limit": "header_bytes", "allowed": 100}
    assert str(error).startswith("limits_exceeded")


def test_a_sum_is_as_well_known_as_its_weakest_part() -> None:
    weights = exactly(100, Provenance.EXACT)
    cache = exactly(20, Provenance.DERIVED)
    overhead = fitted(1, 2, 4)
    assert (weights + cache).provenance is Provenance.DERIVED
    assert total((weights, cache, overhead)) == Amount(121, 122, 124, Provenance.FITTED)


def test_an_empty_sum_is_exactly_nothing() -> None:
    assert total(()) == exactly(0, Provenance.EXACT)


@pytest.mark.parametrize("band", [(2, 1, 3), (1, 3, 2), (-1, 0, 1)])
def test_a_band_out_of_order_is_refused(band: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="band out of order"):
        Amount(*band, Provenance.FITTED)


def test_ggml_types_are_those_of_the_gguf_package() -> None:
    names = {kind.value: kind.name for kind in gguf.GGMLQuantizationType}
    sizes = {kind.name: size for kind, size in gguf.GGML_QUANT_SIZES.items()}
    assert names == GGML_TYPES
    assert sizes == GGML_BLOCKS


def test_both_formats_agree_where_they_share_a_name() -> None:
    for dtype in DTYPE_BITS.keys() & GGML_BLOCKS.keys():
        assert GGML_BLOCKS[dtype] == (1, DTYPE_BITS[dtype] // 8)


@pytest.mark.parametrize(
    "dtype, elements, size",
    [
        ("Q4_K", 4096 * 14336, 4096 * 14336 * 144 // 256),
        ("Q4_0", 33, 36),  # two blocks
        ("NVFP4", 64, 36),
        ("Q1_0", 256, 36),
        ("Q6_K", 0, 0),
        ("F4", 32, 16),
        ("F4", 3, 2),  # 12 bits fill two bytes
        ("F6_E2M3", 4, 3),
        ("F8_E8M0", 7, 7),
        ("BOOL", 5, 5),
        ("BF16", 8_030_261_248, 16_060_522_496),  # Llama-3.1-8B
        ("F64", 2, 16),
        ("C64", 2, 16),
        ("I64", 0, 0),
    ],
)
def test_stored_bytes(dtype: str, elements: int, size: int) -> None:
    assert stored_bytes(dtype, elements) == size


@pytest.mark.parametrize(
    "dtype, bits, nominal",
    [("Q4_K", 4.5, 4), ("Q6_K", 6.5625, 6), ("TQ1_0", 1.6875, 1), ("BF16", 16, 16), ("F4", 4, 4)],
)
def test_width(dtype: str, bits: float, nominal: int) -> None:
    assert bits_per_element(dtype) == bits
    assert nominal_bits(dtype) == nominal


def test_unknown_types_are_refused() -> None:
    for answer in (lambda: stored_bytes("Q9_K", 1), lambda: bits_per_element("Q9_K")):
        with pytest.raises(KeyError):
            answer()


EVERY_CHARACTER = [chr(point) for point in range(sys.maxunicode + 1)]


def test_every_control_format_and_bidirectional_character_is_replaced() -> None:
    replaced = {character for character in EVERY_CHARACTER if printable(character) != character}
    unseen = set(hidden("".join(EVERY_CHARACTER)))
    assert unseen <= replaced
    # Those that newer versions of Unicode have, and Python's own does not.
    assert {unicodedata.category(character) for character in replaced - unseen} == {"Cn"}
    bidirectional = {"\u061c", "\u200e", "\u200f", *map(chr, range(0x202A, 0x202F))}
    assert bidirectional | set(map(chr, range(0x2066, 0x206A))) <= replaced


@pytest.mark.parametrize("text", ["位宽\u3000四", "4\xa0bits – “déjà” ½ 👍🏽", "R$\xa01.234,5", ""])
def test_printable_texts_are_unchanged(text: str) -> None:
    assert printable(text) == text
    assert json.loads(json_text(text)) == text and text in json_text(text)


@pytest.mark.parametrize("indent", [None, 1])
def test_json_escapes_control_characters(indent: int | None) -> None:
    document = {f"名{POISON}": [EVERY_CHARACTER, {"n": 1.5, "none": None}]}
    text = json_text(document, indent=indent)
    assert json.loads(text) == document
    assert "名" in text
    assert set(hidden(text)) == (set() if indent is None else {"\n"})


def test_not_every_float_is_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_text([float("nan")])


def test_a_logged_exception_begins_no_line() -> None:
    try:
        raise RuntimeError(POISON)
    except RuntimeError:
        error = sys.exc_info()
    record = logging.LogRecord("name", logging.ERROR, "path", 1, POISON, None, error)
    first, *rest = PrintableFormatter().format(record).split("\n")
    assert not hidden("".join((first, *rest)))
    assert REPLACEMENT in first
    assert len(rest) > 3 and all(line.startswith("    ") for line in rest)


def test_the_shell_logs_so() -> None:
    """A bug whose exception quotes a repository, met while the shell answers."""
    code = (
        "import sys, gpusizer.__main__ as program, gpusizer.composition.shell as shell\n"
        "def fetch(ref): raise RuntimeError(sys.argv[1])\n"
        "make = shell.make_sizer\n"
        "shell.make_sizer = lambda *how: make(*how).reading(fetch)\n"
        "sys.exit(program.main(['size', 'org/name']))"
    )
    hostile = POISON.replace("\0", "").encode("utf-8", "ignore").decode()  # as arguments can be
    done = subprocess.run(
        [sys.executable, "-c", code, hostile], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert "RuntimeError" in done.stderr and SIGN in done.stderr
    assert set(hidden(done.stderr)) == {"\n"}
    assert not [line for line in done.stderr.splitlines() if line.startswith(SIGN)]
