"""gpusizer.model.profile on arbitrary JSON and arbitrary tensor names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusizer.core.dtypes import DTYPE_BITS
from gpusizer.core.errors import GpusizerError
from gpusizer.gpus import load_catalogue
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.hub.tensors import group_tensors
from gpusizer.model import architecture
from gpusizer.model.architecture.config import SYNONYMS
from gpusizer.model.packing import WEIGHT_SUFFIXES
from gpusizer.model.profile import build_profile
from gpusizer.usecases.sizer import Sizer
from tests.asking import compare, models_for, placing, size, training
from tests.builders import group, snapshot, tiny
from tests.documents import written
from tests.nightly import NIGHTLY

NASTY: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        -(10**9),
        3,
        4,
        2.5,
        1e308,
        10**308,
        float("nan"),
        float("inf"),
        float("-inf"),
        "",
        "32",
        "*M-E",
        "\x00",
        [],
        [0],
        [-1] * 8,
        [None] * 8,
        ["mamba"] * 8,
        [1e308, "x"],
        [[]],
        [{}] * 8,
        {},
        {"attention": {"n_heads_in_group": -3}},
    ]
)
READERS = Path(architecture.__file__).parent.parent
NAMED = re.compile(r'"([a-z]+(?:_[a-z0-9]+)*)"')

OTHER_KEYS = {
    key
    for path in (*READERS.glob("architecture/*.py"), READERS / "quantization.py")
    for key in NAMED.findall(path.read_text(encoding="utf-8"))
}
KEYS = st.sampled_from(sorted(OTHER_KEYS.union(*SYNONYMS.values())))
TYPES = st.sampled_from(["llama", "mamba2", "falcon", "deepseek_v3", "gpt_oss", "bert", "?"])
METHODS = st.sampled_from(
    [
        *("gptq", "awq", "mlx", "fp8", "bitsandbytes", "compressed-tensors", "fbgemm_fp8", "mxfp4"),
        *("modelopt", "bitnet", "quark", "hqq", "exl3", "newest", "", "x" * 500, None, 7),
    ]
)
VALUES = st.recursive(
    NASTY,
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=6,
)


def assert_sane(value: Any) -> None:
    """No number anywhere in a JSON value is negative or not a number."""
    if isinstance(value, dict):
        for item in value.values():
            assert_sane(item)
    elif isinstance(value, list):
        for item in value:
            assert_sane(item)
    elif isinstance(value, int | float):
        assert 0 <= value < float("inf")


def assert_survives(repo: RepoSnapshot) -> None:
    try:
        profile = build_profile(repo)
    except GpusizerError:
        return
    assert_sane(json.loads(json.dumps(asdict(profile), allow_nan=False, default=str)))
    assert profile.kv_cache_bytes_per_token >= 0
    stored = profile.quantization
    if stored is not None:
        assert stored.bits is None or 1 <= stored.bits <= 16
        assert stored.group_size is None or stored.group_size > 0
        assert len(stored.method) <= 40


@settings(deadline=None)
@given(TYPES, st.dictionaries(KEYS, VALUES, max_size=8))
def test_hostile_configurations_give_sane_numbers(model_type: str, hostile: dict[str, Any]) -> None:
    assert_survives(tiny(model_type=model_type, config=hostile))


@settings(deadline=None)
@given(METHODS, st.dictionaries(KEYS, VALUES, max_size=8))
def test_hostile_settings_give_possible_widths(method: Any, hostile: dict[str, Any]) -> None:
    assert_survives(tiny(config={"quantization_config": {"quant_method": method, **hostile}}))


@settings(deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_hostile_files_beside_the_configuration(hostile: dict[str, Any]) -> None:
    names = ("quantize_config.json", "hf_quant_config.json")
    assert_survives(
        snapshot([group("w", (2, 2))], hostile, extra_configs=dict.fromkeys(names, hostile))
    )


def test_a_configuration_nested_in_itself() -> None:
    config: dict[str, Any] = {"num_hidden_layers": 4}
    for _ in range(300):
        config = {"text_config": config, "quantization_config": config, "layer_types": [config]}
    assert_survives(snapshot([group("model.layers.{}.w", (2, 2), range(4))], config))


NAME_PARTS = st.sampled_from(
    [
        "model",
        "layers",
        "{}",
        "0",
        "3",
        "99999",
        "self_attn",
        "k_proj",
        "experts",
        "weight",
        "qweight",
        "weight_packed",
        "gate_up_proj_blocks",
        "scales",
        "absmax",
        "weight_scale",
        "embed_tokens",
        "lm_head",
        "mtp",
        "visual",
        "bias",
        "",
    ]
)
# Beside a matrix stand what its quantizer keeps of it: tensors of one name with these endings.
OF_ONE_MATRIX = st.sampled_from(
    [
        *(*WEIGHT_SUFFIXES, ".scales", ".scale", ".g_idx", ".q_invperm", ".weight_scale", ".zero"),
        *(".weight.absmax", "._weight_scale", ".suh"),
    ]
)
TENSORS = st.dictionaries(
    st.lists(NAME_PARTS, min_size=1, max_size=6).map(".".join)
    | OF_ONE_MATRIX.map("model.layers.0.p{}".format),
    st.tuples(
        st.sampled_from(sorted(DTYPE_BITS)),
        st.lists(st.integers(0, 5) | st.integers(0, 2**40), max_size=5).map(tuple),
    ),
    max_size=8,
)


@settings(deadline=None)
@given(TENSORS, METHODS, st.integers(1, 16))
def test_hostile_headers_give_sane_numbers(
    entries: dict[str, tuple[str, tuple[int, ...]]], method: Any, bits: int
) -> None:
    groups = group_tensors([(name, dtype, shape) for name, (dtype, shape) in entries.items()])
    config = {"model_type": "llama", "quantization_config": {"quant_method": method, "bits": bits}}
    assert_survives(snapshot(groups, config))


CATALOGUE = load_catalogue()
MODEL = {"model": "org/model"}
DESK, RIG = ["org/model", "org/model users=3 resident=no"], "3090 + 3060 + 32 GB RAM"


def sizer(repo: RepoSnapshot) -> Sizer:
    return Sizer(lambda ref: repo, CATALOGUE)


ANSWERS: dict[str, Callable[[RepoSnapshot], object]] = {
    "size": lambda repo: written(size(sizer(repo), {**MODEL, "top": 3})),
    "rig": lambda repo: written(size(sizer(repo), {**MODEL, "rig": "3090 + 32gb ram"})),
    "compare": lambda repo: written(compare(sizer(repo), {**MODEL, "gpus": ["4090"]})),
    "models-for": lambda repo: written(
        models_for(sizer(repo), {"gpu": "4090", "models": ["org/model"]})
    ),
    "train": lambda repo: written(training(sizer(repo), {**MODEL, "top": 3})),
    "desk": lambda repo: written(placing(sizer(repo), {"models": DESK, "gpu": RIG})),
    "a desk to buy": lambda repo: written(placing(sizer(repo), {"models": DESK})),
}


@pytest.mark.parametrize("name", ANSWERS)
@settings(deadline=None, max_examples=15 if NIGHTLY else 5)
@given(config=st.dictionaries(KEYS, VALUES, max_size=8), entries=TENSORS, method=METHODS)
@example(config={}, entries={"weight": ("BF16", (64, 64))}, method="gptq")
@example(config={}, entries={"a.qweight": ("I32", (8, 8)), "a.scales": ("F16", ())}, method="gptq")
def test_any_repository_is_answered_or_refused(
    name: str,
    config: dict[str, Any],
    entries: dict[str, tuple[str, tuple[int, ...]]],
    method: Any,
) -> None:
    groups = group_tensors([(name, dtype, shape) for name, (dtype, shape) in entries.items()])
    tensors = (*tiny().components[0].tensors, *groups)
    quantized = {"quantization_config": {"quant_method": method, "bits": 4, "group_size": 32}}
    plain = dict(tiny().components[0].config or {})
    with suppress(GpusizerError):
        json.dumps(ANSWERS[name](snapshot(tensors, plain | quantized | config)), allow_nan=False)
