from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.errors import GpusizerError, InvalidRequest
from gpusizer.gpu_request import GpuRequest, parse_gpu_request
from gpusizer.request import SIZE_FIELDS, parse_size_request


def test_defaults_are_made_visible() -> None:
    request = parse_size_request({"model": "org/name"})
    assert (request.quants, request.rank_by, request.top) == (("all",), "smallest", 20)
    assert (request.workload.context, request.workload.concurrency) == (8192, 1)
    assert request.workload.engine is None


@pytest.mark.parametrize(
    ("field", "value", "parsed"),
    [
        ("context", "32768", 32768),
        ("context", 4096.0, 4096),
        ("context", "131,072", 131_072),
        ("kv_dtype", "FP8", "fp8"),
        ("kv_dtype", "Q8_0/f16", "q8_0/f16"),
        ("cpu_moe", "on", True),
        ("memory_utilization", "0.85", 0.85),
        ("enforce_eager", "true", True),
        ("tensor_parallel", 4, 4),
    ],
)
def test_values_are_read_as_people_write_them(field: str, value: Any, parsed: Any) -> None:
    assert getattr(parse_size_request({field: value}).workload, field) == parsed


@pytest.mark.parametrize(
    ("field", "value"),
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
    ],
)
def test_impossible_values_name_their_field(field: str, value: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_size_request({field: value})
    assert caught.value.code == "invalid_request"
    assert caught.value.fields["field"] == field
    assert caught.value.fields["reason"]


def test_lists_may_be_written_with_commas() -> None:
    request = parse_size_request({"quant": "q4_k_m, bf16", "gpu": ["4090", "2x3090"]})
    assert request.quants == ("q4_k_m", "bf16")
    assert request.gpus == ("4090", "2x3090")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(SIZE_FIELDS) | st.text(max_size=8), JSON, max_size=4))
def test_any_json_object_is_answered(fields: dict[str, Any]) -> None:
    """Whatever a program sends becomes a request or a typed error, never another exception."""
    try:
        request = parse_size_request(fields)
    except GpusizerError as error:
        assert error.code == "invalid_request"
    else:
        assert request.workload.context > 0


@pytest.mark.parametrize(
    ("text", "name", "count"),
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
