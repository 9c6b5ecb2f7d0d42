"""Requests: spellings, refusals, and the values that the arithmetic takes from them."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import get_annotations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.core.request_model import RequestModel, fields_of
from gpusizer.fit.filters import NO_FILTER
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS
from gpusizer.gpus.names import GpuRequest, parse_gpu_request
from gpusizer.memory.kv_cache import ALIASES, BYTES_PER_ELEMENT
from gpusizer.memory.workload import Workload
from gpusizer.text import say_error
from gpusizer.usecases.requests.request import CompareRequest, ListingRequest, SizeRequest
from tests.any_json import any_json

CACHE_TYPES = (*BYTES_PER_ELEMENT, *ALIASES)


def test_defaults_are_made_visible() -> None:
    request = SizeRequest.from_fields({"model": "org/name"})
    assert (request.quants, request.rank_by, request.top) == (("all",), "recommended", 20)
    assert (request.workload.context, request.workload.concurrency) == (8192, 1)
    assert request.workload.engine is None


def test_defaults_are_those_of_the_values_that_the_arithmetic_takes() -> None:
    request = SizeRequest.from_fields({})
    assert request.workload == Workload()
    assert request.filters == NO_FILTER
    assert request.assumptions == DEFAULT_ASSUMPTIONS


def test_every_field_has_a_meaning_and_every_group_of_fields_a_heading() -> None:
    """A meaning is a phrase: the documents go on after it."""
    for group in _below(RequestModel):
        own = [name for name in get_annotations(group) if name in group.model_fields]
        meanings = [group.model_fields[name].description or "" for name in own]
        assert all(meanings) and not any(text.endswith(".") for text in meanings), group
        assert not own or group.heading, group


def _below(group: type[RequestModel]) -> Iterator[type[RequestModel]]:
    for child in group.__subclasses__():
        yield child
        yield from _below(child)


def test_equal_requests_are_one_key() -> None:
    """Answers are cached by request: an omitted field equals its default."""
    with_nulls = SizeRequest.from_fields({"model": "org/name", "context": "8,192", "gpu": None})
    assert len({with_nulls, SizeRequest.from_fields({"model": "org/name"})}) == 1
    assert with_nulls.workload.context == 8192
    assert with_nulls == SizeRequest.from_fields({"model": "org/name"})


@pytest.mark.parametrize(
    "field, value, parsed",
    [
        ("context", "32768", 32768),
        ("context", 4096.0, 4096),
        ("context", "131,072", 131_072),
        ("context", "4096.0", 4096),
        ("kv_dtype", "FP8", "fp8"),
        ("kv_dtype", "Q8_0/f16", "q8_0/f16"),
        ("cpu_moe", "on", True),
        ("cpu_moe", " Yes ", True),
        ("cpu_moe", 1, True),
        ("memory_utilization", "0.85", 0.85),
        ("enforce_eager", "true", True),
        ("tensor_parallel", 4, 4),
    ],
)
def test_values_are_read_as_people_write_them(field: str, value: Any, parsed: Any) -> None:
    assert getattr(SizeRequest.from_fields({field: value}).workload, field) == parsed


@pytest.mark.parametrize(
    "field, value",
    [
        ("context", -1),
        ("context", 0),
        ("context", "many"),
        ("context", "--5"),
        ("context", 10**12),
        ("context", True),
        ("context", 8.5),
        ("concurrency", "0"),
        ("kv_dtype", "int3"),
        ("kv_dtype", "q8_0/"),
        ("kv_dtype", "q8_0/f16/f16"),
        ("memory_utilization", 1.5),
        ("memory_utilization", "nan"),
        ("enforce_eager", "perhaps"),
        ("enforce_eager", 1.5),
        ("rank_by", "prettiest"),
        ("gpu_count", 5000),
        ("model", ["org/name"]),
        ("model", "x" * 1000),
        ("quant", {"a": 1}),
        ("quant", ["q4_k_m"] * 100),
        ("colour", "blue"),
        ("status", "nearly"),
        ("max_usd", -5),
        ("max_usd", "cheap"),
        ("max_watts", "nan"),
        ("max_usd_per_hour", 0),
        ("rentable", "perhaps"),
        ("hours_per_day", 25),
        ("hours_per_day", 0),
        ("usd_per_kwh", "inf"),
        ("amortisation_years", 0),
        ("host_usd", -1),
    ],
)
def test_impossible_values_name_their_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        SizeRequest.from_fields({field: value})
    assert caught.value.code == "invalid_request"
    assert caught.value.fields["field"] == field
    reason = str(caught.value.fields["reason"])
    assert reason.startswith("not_") or reason in ("out_of_range", "too_long", "unknown_field")


def test_a_copy_keeps_nothing_that_was_made_of_other_values() -> None:
    """`model_copy` takes over whatever a request has cached."""
    request = SizeRequest.from_fields({"context": 4096, "used_gb": 2, "vendor": "AMD"})
    made = ("workload", "own_memory", "filters", "assumptions")
    assert all(getattr(request, name) for name in made)
    other = {"context": 2048, "used_gb": 1.0, "vendors": (), "host_usd": 7.0}
    copy = request.model_copy(update=other)
    asked = SizeRequest.from_fields({"context": 2048, "used_gb": 1, "host_usd": 7})
    assert copy == asked
    assert [getattr(copy, name) for name in made] == [getattr(asked, name) for name in made]


def test_lists_may_be_written_with_commas() -> None:
    request = SizeRequest.from_fields({"quant": "q4_k_m, bf16", "gpu": ["4090", "2x3090"]})
    assert request.quants == ("q4_k_m", "bf16")
    assert request.gpus == ("4090", "2x3090")


def refusal(request: type[RequestModel], fields: dict[str, Any]) -> dict[str, Any]:
    with pytest.raises(InvalidRequest) as caught:
        request.from_fields(fields)
    return caught.value.fields


@pytest.mark.parametrize(
    "request_model, field, value, shown, reason, more",
    [
        (SizeRequest, "context", "10,000,001", "10000001", "out_of_range", (1, 10_000_000)),
        (SizeRequest, "gpu_count", 1025.0, "1025", "out_of_range", (1, 1024)),
        (SizeRequest, "usd_per_kwh", " 11 ", " 11 ", "out_of_range", (0, 10)),
        (SizeRequest, "max_usd", True, "True", "out_of_range", (1, 1e9)),
        (SizeRequest, "quantized_repos", "Some", "Some", "not_one_of", "list, sizes"),
        (SizeRequest, "steps", "8,192", "8192", "out_of_range", (1, 1000)),
        (SizeRequest, "quant", ["bf16"] * 65, "65 items", "out_of_range", (0, 64)),
        (SizeRequest, "quant", ["bf16", 4], "4", "not_text", None),
        (SizeRequest, "quant", ["bf16", "x" * 301], "x" * 80, "too_long", None),
        (SizeRequest, "kv_dtype", "q8_0/int3", "int3", "not_one_of", ", ".join(CACHE_TYPES)),
        (SizeRequest, "max_watts", "\ud800", "\ud800", "not_a_number", None),
        (SizeRequest, "colour", "", "", "unknown_field", None),
        (SizeRequest, "\ud800", 1, "1", "unknown_field", None),
        (CompareRequest, "gpus", None, "None", "not_a_list", None),
        (CompareRequest, "gpus", [" "], "[' ']", "empty", None),
        (ListingRequest, "query", 5, "5", "not_text", None),
    ],
)
def test_refusals_name_field_value_and_reason(
    request_model: type[RequestModel], field: str, value: Any, shown: str, reason: str, more: Any
) -> None:
    """And what would be right: both ends of a range, or the choices."""
    fields = {} if value is None else {field: value}
    said = {"field": field, "value": shown, "reason": reason}
    if isinstance(more, tuple):
        said |= dict(zip(("low", "high"), more, strict=True))
    elif more:
        said["choices"] = more
    assert refusal(request_model, fields) == said


def test_the_first_wrong_field_is_named() -> None:
    wrong = {"width": 1, "colour": "blue", "context": 0}
    assert refusal(SizeRequest, wrong)["field"] == "width"
    assert refusal(SizeRequest, dict(reversed(wrong.items())))["field"] == "context"
    assert refusal(SizeRequest, {**wrong, "width": 16})["field"] == "colour"


def test_a_lone_surrogate_is_accepted_by_the_request() -> None:
    assert SizeRequest.from_fields({"model": "\ud800"}).model == "\ud800"


def test_a_comparison_is_a_size_request_with_gpus() -> None:
    request = CompareRequest.from_fields({"gpus": "4090, 2x3090", "context": 4096, "top": 5})
    assert request.compared == ("4090", "2x3090")
    assert request.workload.context == 4096


@given(
    st.dictionaries(
        st.sampled_from(sorted(fields_of(SizeRequest))) | st.text(max_size=8),
        any_json(),
        max_size=4,
    )
)
def test_any_json_object_is_answered(fields: dict[str, Any]) -> None:
    """Any JSON object becomes a request or a typed error, never another exception."""
    try:
        request = SizeRequest.from_fields(fields)
    except GpusizerError as error:
        assert error.code == "invalid_request"
    else:
        assert request.workload.context > 0


@pytest.mark.parametrize(
    "text, name, count",
    [
        ("4090", "4090", None),
        ("2x4090", "4090", 2),
        ("2 × RTX 4090", "RTX 4090", 2),
        ("4 * L40S", "L40S", 4),
        ("8 X H100 80GB", "H100 80GB", 8),
        ("RTX 3060 12GB", "RTX 3060 12GB", None),
        ("3080 10GB", "3080 10GB", None),
        (" M2 Ultra 192GB ", "M2 Ultra 192GB", None),
    ],
)
def test_a_count_may_stand_before_the_name(text: str, name: str, count: int | None) -> None:
    assert parse_gpu_request(text) == GpuRequest(name, count)


@pytest.mark.parametrize("text", ["0x4090", "2000 x 4090"])
def test_impossible_counts(text: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_gpu_request(text)


def test_bounds_are_written_without_a_fraction() -> None:
    with pytest.raises(InvalidRequest) as refused:
        SizeRequest.from_fields({"model": "org/name", "min_tok_s": 1e9})
    assert say_error(refused.value).endswith("it must be between 0.01 and 1000000.")
