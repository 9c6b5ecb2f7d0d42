"""Predictions for published peaks of diffusers pipelines, and of their parts alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from bench import naive
from bench.comparison import Comparison
from bench.measurements import Row
from bench.models import load_profile
from gpusizer.engines import ENGINES, Split
from gpusizer.engines.diffusers import component_bytes
from gpusizer.engines.pipeline_steps import steps
from gpusizer.memory import Estimator
from gpusizer.profile import ModelProfile
from gpusizer.quants import Quant, find_quant
from gpusizer.quants.native import native_quant
from gpusizer.weight_sizes import weight_sizes
from gpusizer.weights import WeightGroup
from gpusizer.workload import Workload

ENGINE = "diffusers"
_BYTES = {"F32": 4, "F16": 2, "BF16": 2}


def compare(row: Row) -> Iterator[Comparison]:
    """The peak that PyTorch counted, which leaves out the CUDA context."""
    profile = loaded(row["profile"], row["weight_dtype"], tuple(row.get("without", ())))
    quant = find_quant(row["quant"]) if "quant" in row else native_quant(profile)
    part = row["scope"] != "pipeline"
    predicted = _of_part(row, profile) if part else _of_pipeline(row, profile, quant)
    yield Comparison(
        ENGINE,
        f"{row['scope']}_peak",
        row.get("cpu_offload", ""),
        row["id"],
        row["dup_group"],
        row["source_group"],
        row["source_url"],
        row["measured"]["peak_bytes"],
        predicted,
        None if part else 1.2 * naive.weights_bytes(profile, quant, native="quant" not in row),
    )


@cache
def loaded(repo_id: str, dtype: str, without: tuple[str, ...]) -> ModelProfile:
    """A pipeline whose weights were loaded as `dtype`, some of its components left out."""
    profile = load_profile(repo_id)
    shape = profile.pipeline
    assert shape is not None
    groups = tuple(_as(g, dtype) for g in profile.groups if g.component not in without)
    encoders = tuple(one for one in shape.encoders if one.component not in without)
    return replace(
        profile,
        groups=groups,
        native_dtype=dtype,
        parameters=sum(group.parameters for group in groups),
        weight_bytes=sum(group.stored_bytes for group in groups),
        pipeline=replace(shape, encoders=encoders),
    )


def _as(group: WeightGroup, dtype: str) -> WeightGroup:
    stored = group.elements * group.count * _BYTES[dtype]
    return replace(group, dtype=dtype, stored_bytes=stored)


def workload_of(row: Row) -> Workload:
    """The request a row stands for."""
    fields = ("width", "height", "frames", "cpu_offload")
    given = {name: row[name] for name in fields if name in row}
    return Workload(concurrency=row.get("images", 1), **given)


def _of_pipeline(row: Row, profile: ModelProfile, quant: Quant) -> float:
    native = "quant" not in row
    sizes = weight_sizes(profile, quant, native=native)
    made = Estimator(profile, workload_of(row)).estimate(
        quant, ENGINES[ENGINE], sizes, Split(), native=native
    )
    return made.per_gpu.weights.likely + made.per_gpu.activations.likely


def _of_part(row: Row, profile: ModelProfile) -> float:
    """One component with its weights (`denoiser`, without guidance) or without (`decoder`)."""
    shape = profile.pipeline
    assert shape is not None
    sizes = weight_sizes(profile, native_quant(profile), native=True)
    alone = replace(shape, guidance_batches=1, text_tokens=row.get("text_tokens", 0))
    bfloat16 = {group.component for group in profile.groups if group.dtype == "BF16"}
    width = _BYTES[row["weight_dtype"]]
    widths = {group.component: width for group in profile.groups}
    _, denoising, *_, decoding = steps(alone, workload_of(row), widths, bfloat16)
    if row["scope"] == "decoder":
        return decoding.need[1]
    return component_bytes(profile, shape, sizes)[shape.denoisers[0].component] + denoising.need[1]
