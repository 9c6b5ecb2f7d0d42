"""Weights known by their totals alone: pickles and gated repositories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.gpus import load_catalogue
from gpusizer.hub.snapshot import Component, Config, Totals
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind
from gpusizer.usecases.sizer import Sizer
from scrapers.formats.shard_index import ShardIndex
from scrapers.formats.weight_sets import RepoFile
from scrapers.repository.totals import gated_component, pickled_component, torch_dtype
from tests.any_json import any_json
from tests.asking import size
from tests.builders import llama, quantized_bytes, snapshot

REAL = llama()
CONFIG = REAL.components[0].config
PARAMETERS = 8_030_261_248


def totals_profile(totals: Totals, config: Config | None = CONFIG, **fields: Any) -> ModelProfile:
    parts = (Component("model", config, (), (), totals),)
    return build_profile(snapshot([], components=parts, **{"format": "pickle", **fields}))


def test_totals_lay_out_the_model_its_configuration_describes() -> None:
    profile = totals_profile(Totals({"BF16": PARAMETERS}, 2 * PARAMETERS, "index"))
    real = build_profile(REAL)
    assert (profile.parameters, profile.weight_bytes) == (real.parameters, real.weight_bytes)
    assert profile.kv_cache_bytes_per_token == real.kv_cache_bytes_per_token
    assert profile.architecture == real.architecture
    kinds = {group.kind: group.parameters for group in profile.groups}
    assert kinds[Kind.EMBEDDING] == kinds[Kind.OUTPUT] == 128256 * 4096
    assert profile.weights_basis == "index"


@pytest.mark.parametrize("slug", ["bf16", "fp8", "q8_0", "bnb-nf4", "awq-int4-g128"])
def test_quantized_sizes_are_near_those_of_the_tensors(slug: str) -> None:
    estimated = totals_profile(Totals({"BF16": PARAMETERS}, 2 * PARAMETERS, "files"))
    real = quantized_bytes(slug, build_profile(REAL))
    assert quantized_bytes(slug, estimated) == pytest.approx(real, rel=0.01)


@pytest.mark.parametrize(
    ("basis", "gated", "code"),
    [
        ("index", False, "sizes_from_files"),
        ("files", False, "sizes_from_files"),
        ("api", True, "gated_totals"),
        ("files", True, "gated_totals"),
    ],
)
def test_the_source_of_totals_is_a_caveat(basis: Any, gated: bool, code: str) -> None:
    profile = totals_profile(Totals({"F16": 100}, 200, basis), None, gated=gated)
    codes = [note.code for note in profile.caveats]
    assert code in codes
    assert "architecture_unknown" in codes


def test_the_class_alone_is_no_architecture() -> None:
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    profile = totals_profile(Totals({"BF16": 70 * 10**9}, 140 * 10**9, "api"), config, gated=True)
    assert profile.architecture is None
    assert profile.kv_cache_bytes_per_token == 0


@given(
    parameters=st.dictionaries(
        st.sampled_from(["F32", "BF16", "F8_E4M3", "I32", "U8"]), st.integers(0, 10**13), min_size=1
    ),
    weight_bytes=st.integers(1, 10**14),
    config=st.sampled_from([None, CONFIG]),
)
def test_layout_neither_adds_nor_loses(
    parameters: dict[str, int], weight_bytes: int, config: Config | None
) -> None:
    if not any(parameters.values()):
        return
    profile = totals_profile(Totals(parameters, weight_bytes, "api"), config)
    assert profile.parameters == sum(parameters.values())
    assert profile.weight_bytes == weight_bytes
    stored = {name: count for name, count in profile.stored_parameters_by_dtype.items() if count}
    assert stored == {name: count for name, count in parameters.items() if count}


@pytest.mark.parametrize(
    "config, dtype",
    [
        ({"torch_dtype": "float16"}, "F16"),
        ({"dtype": "bfloat16"}, "BF16"),
        ({"torch_dtype": "torch.float32"}, "F32"),
        ({"text_config": {"torch_dtype": "bfloat16"}}, "BF16"),
        ({"torch_dtype": 16}, "F32"),
        ({"torch_dtype": "auto"}, "F32"),
        ({}, "F32"),
        (None, "F32"),
    ],
)
def test_torch_dtype(config: Config | None, dtype: str) -> None:
    assert torch_dtype(config) == dtype


HOSTILE = any_json(st.sampled_from(["metadata", "total_size", "torch_dtype", "text_config"]))


@given(config=HOSTILE, total_size=HOSTILE, size=st.none() | st.integers(0, 2**60))
def test_hostile_files_give_a_possible_total_or_none(
    config: Any, total_size: Any, size: int | None
) -> None:
    files = [RepoFile("pytorch_model.bin", size)]
    config = config if isinstance(config, dict) else None
    index = ShardIndex(("pytorch_model.bin",), total_size)
    component = pickled_component("model", config, files, index)
    if component is not None:
        assert component.totals is not None
        assert component.totals.weight_bytes > 0
        assert all(count >= 0 for count in component.totals.parameters.values())
    assert component is not None or not size


@pytest.mark.parametrize(
    ("size", "parameters", "weight_bytes", "basis"),
    [
        (2_004_000, {"BF16": 10**6}, 2_000_000, "api"),  # a header is all the difference
        (600_000, {"BF16": 10**6}, 600_000, "api"),  # counted unpacked: the files decide
        (None, {"BF16": 10**6, "F32": 10}, 2_000_040, "api"),
        (2_000_000, None, 2_000_000, "files"),
    ],
)
def test_gated_sizes(
    size: int | None, parameters: dict[str, int] | None, weight_bytes: int, basis: str
) -> None:
    files = [RepoFile("model.safetensors", size)]
    component = gated_component("model", None, files, parameters)
    assert component is not None
    assert component.totals is not None
    assert (component.totals.weight_bytes, component.totals.basis) == (weight_bytes, basis)


def test_without_sizes_there_is_no_component() -> None:
    assert gated_component("model", None, [], None) is None
    assert pickled_component("model", None, [], None) is None


def test_native_weights_are_derived_where_no_header_was_read() -> None:
    totals = Totals({"BF16": PARAMETERS}, 2 * PARAMETERS, "files")
    pickled = replace(REAL, components=(Component("model", CONFIG, (), (), totals),))
    for repo, expected in ((REAL, "exact"), (pickled, "derived")):
        report = size(
            Sizer(lambda ref, repo=repo: repo, load_catalogue()),
            {"model": "org/model", "quant": "native", "engine": "tgi"},
        )
        assert report.estimates[0].estimate.all_gpus.provenance["weights"] == expected
