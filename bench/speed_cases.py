"""Cases: measured speeds in the form on which constants are fitted.

A fit needs the bytes that a run read: those of its file, without tensors that decoding does not
read. Errors are those of the public answers (`bench/speed_answers.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from bench.first_contact import not_fitted_on
from bench.measurements import SPEEDS, Row, load, load_profile
from gpusizer.fit.speed.classes import family, format_of
from gpusizer.fit.speed.work import ModelFacts, Work
from gpusizer.gpus import Catalogue, Gpu, load_catalogue
from gpusizer.memory.quants import Quant, find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.quants.table import all_quants
from gpusizer.memory.weight_sizes import WeightSizes, weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

_STANDS_FOR = {"lmdeploy": "vllm"}  # engines that no request can name -> a similar one
_GGUF = {"bf16": "gguf-f16", "fp32": "gguf-f32"}
_MODELLED = frozenset(
    {
        "llama.cpp",
        "ollama",
        "exllama",
        "mlx",
        "transformers",
        "vllm",
        "sglang",
        "tgi",
        "tensorrt-llm",
    }
)
_TEXT = (Part.TEXT, Part.MTP, Part.ENCODER)
# NVIDIA's checkpoints in these formats have an FP8 cache.
_NARROW_CACHE = frozenset({"fp8", "nvfp4"})


@dataclass(frozen=True, slots=True)
class Case:
    """A row with all inputs of a prediction.

    Attributes:
        held_out: GPU or group that leave-one-GPU-out leaves out together with this row.
        source: source group of the measurement.
        concurrency: number of users, 1 if the row does not state several.
    """

    row: Row
    work: Work
    gpu: Gpu
    held_out: str
    source: str
    concurrency: int

    def measured(self, quantity: str) -> float | None:
        """Return the measured tokens per second of "decode", "prefill" or "serving"."""
        value: float | None = self.row["measured"].get(f"{quantity}_tokens_per_second")
        return value

    @property
    def split(self) -> str:
        """ "one" GPU, or how several share the model: "layer", "tensor"."""
        if self.work.tensor > 1:
            return "tensor"
        return "layer" if self.work.pipeline > 1 else "one"


def read_cases(rows: Iterable[Row] | None = None) -> list[Case]:
    """Return the rows that gpusizer can predict, repeats of a configuration once.

    Without `rows` they are those of `data/measurements` on which constants are fitted.
    """
    if rows is None:
        rows = [row for row in load((SPEEDS,)) if row["id"] not in not_fitted_on()]
    return list(_cases(rows))


def _cases(rows: Iterable[Row]) -> Iterator[Case]:
    groups = set()
    for row in rows:
        if row["kind"] == "throughput" and row["dup_group"] not in groups:
            case = _case(row)
            if case is not None:
                groups.add(row["dup_group"])
                yield case


def _case(row: Row) -> Case | None:
    """Return the case; None for engines, formats, splits and lengths that are not modelled."""
    engine = _STANDS_FOR.get(row["engine"], row["engine"])
    context = row.get("context") or (row.get("prompt_tokens", 0) + row.get("generated_tokens", 0))
    unstated = row["gpu_count"] > 1 and row.get("split") not in ("tensor", "layer")
    if engine not in _MODELLED or not context or unstated:
        return None
    profile = text_profile(row["profile"])
    quant = _quant(row, engine, profile)
    narrow = engine == "tensorrt-llm" and row.get("quant") in _NARROW_CACHE
    workload = Workload(context=context, kv_dtype="fp8" if narrow else "auto")
    facts = ModelFacts.of(profile, workload, row.get("prompt_tokens"))
    if quant is None or facts is None:
        return None
    gpu = _gpu(row)
    return Case(
        row=row,
        work=_work(row, engine, quant, facts),
        gpu=gpu,
        held_out=f"{gpu.slug} {row.get('gpu_cores', '')}".strip(),
        source=row["source_group"],
        concurrency=row.get("concurrency", 1),
    )


def _work(row: Row, engine: str, quant: Quant, facts: ModelFacts) -> Work:
    sizes = _sizes(row["profile"], quant)
    size_ratio = row["file_bytes"] / sizes.total if "file_bytes" in row else 1.0
    tensor = row["gpu_count"] if row.get("split") == "tensor" else 1
    return Work(
        facts=facts,
        engine=engine,
        family=family(engine),
        format=format_of(quant),
        quant=quant.slug,
        dense_bytes=round((sizes.total - sizes.embedding - sizes.experts) * size_ratio),
        expert_bytes=round(sizes.experts * size_ratio),
        tensor=tensor,
        pipeline=row["gpu_count"] // tensor,
    )


def _quant(row: Row, engine: str, profile: ModelProfile) -> Quant | None:
    """Return the format as the engine runs it; "native" for checkpoints stored in MXFP4."""
    slug = row.get("quant", "")
    if engine in ("llama.cpp", "ollama"):
        slug = "mxfp4_moe" if slug == "mxfp4" else _GGUF.get(slug, slug)
    elif slug == "mxfp4":
        return native_quant(profile)
    known = {quant.slug for quant in all_quants()}
    return find_quant(slug) if slug in known else None


@cache
def text_profile(repo_id: str) -> ModelProfile:
    """Return the profile without vision and audio towers, which a decoding step does not read."""
    profile = load_profile(repo_id)
    groups = tuple(group for group in profile.groups if group.part in _TEXT)
    return replace(profile, groups=groups, parameters=sum(group.parameters for group in groups))


@cache
def _sizes(repo_id: str, quant: Quant) -> WeightSizes:
    return weight_sizes(text_profile(repo_id), quant, native=quant.slug == "mxfp4")


@cache
def _catalogue() -> Catalogue:
    return load_catalogue()


def _gpu(row: Row) -> Gpu:
    """Return the card with the measured number of cores, which may be less than the catalogue's."""
    gpu = _catalogue().find(row["gpu_slug"])
    cores = row.get("gpu_cores")
    if cores is None or gpu.compute_units in (None, cores) or gpu.fp32_flops is None:
        return gpu
    assert gpu.compute_units is not None
    flops = gpu.fp32_flops * cores / gpu.compute_units
    return replace(gpu, fp32_flops=flops, compute_units=cores)
