"""Requests from people and programs, checked field by field before anything is computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpusizer.costs import DEFAULT_ASSUMPTIONS, CostAssumptions
from gpusizer.fields import Parser, fail, flag, integer, number, one_of, text, texts
from gpusizer.filters import IN_PRODUCTION, NO_FILTER, STATUSES, GpuFilter
from gpusizer.kv_cache import ALIASES, BYTES_PER_ELEMENT
from gpusizer.workload import MOST_CONTEXT, MOST_USERS, OFFLOADS, Workload

ALL_QUANTS = "all"
NATIVE_QUANT = "native"
RANKINGS = (
    "smallest", "cheapest", "fastest", "cheapest_to_run", "cheapest_per_hour",
    "tokens_per_dollar", "tokens_per_watt", "headroom", "training", "inference",
)  # fmt: skip
LISTINGS = ("list", "sizes")
DEFAULT_TOP = 20


@dataclass(frozen=True, slots=True)
class SizeRequest:
    """A checked request to size one model.

    Attributes:
        model: what was pasted.
        revision, file: branch, tag or commit, and one file of the repository, when given.
        quants: slugs, "native" or "all".
        workload: how the model will be used.
        gpus: slugs or aliases to look at; empty for the whole catalogue.
        gpu_count: boards of each, None to find the smallest number that fits.
        rank_by: order of the ranking.
        top: rows of the ranking to return, 0 for all.
        quantized_repos: also list the quantized repositories published for the model: "list",
            or "sizes" for their bytes as well; "" for neither.
        filters: which GPUs and plans the ranking may consider.
        assumptions: what costs are reckoned with.
        rig: a machine to place the model on, such as "3090 + 3060 + 64gb ram"; "" for none.
    """

    model: str
    revision: str | None
    file: str | None
    quants: tuple[str, ...]
    workload: Workload
    gpus: tuple[str, ...]
    gpu_count: int | None
    rank_by: str
    top: int
    quantized_repos: str = ""
    filters: GpuFilter = NO_FILTER
    assumptions: CostAssumptions = DEFAULT_ASSUMPTIONS
    rig: str = ""


def _ranking(field: str, value: Any) -> str:
    """A policy, with hyphens or underscores between its words."""
    known: str = one_of(RANKINGS)(field, text(field, value).replace("-", "_"))
    return known


def _statuses(field: str, value: Any) -> tuple[str, ...]:
    known = one_of((*STATUSES, IN_PRODUCTION))
    return tuple(known(field, one) for one in texts(field, value))


def _cache_type(field: str, value: Any) -> str:
    """One type, or those of keys and values: "q8_0/f16"."""
    known = one_of((*BYTES_PER_ELEMENT, *ALIASES))
    keys, *values = text(field, value).split("/", 1)
    return "/".join(known(field, part) for part in (keys, *values))


_CARDS = integer(1, 1024)
_WORKLOAD_FIELDS: dict[str, Parser] = {
    "context": integer(1, MOST_CONTEXT),
    "concurrency": integer(1, MOST_USERS),
    "kv_dtype": _cache_type,
    "engine": text,
    "engine_version": text,
    "tensor_parallel": _CARDS,
    "pipeline_parallel": _CARDS,
    "expert_parallel": _CARDS,
    "memory_utilization": number(0.1, 1.0),
    "max_num_seqs": integer(1, 100_000),
    "max_num_batched_tokens": integer(1, 10_000_000),
    "batch_size": integer(1, 1_000_000),
    "ubatch_size": integer(1, 1_000_000),
    "enforce_eager": flag,
    "text_only": flag,
    "draft_tokens": integer(0, 64),
    "flash_attention": flag,
    "gpu_layers": integer(0, 10_000),
    "cpu_moe": flag,
    "width": integer(16, 16_384),
    "height": integer(16, 16_384),
    "frames": integer(1, 10_000),
    "cpu_offload": one_of(OFFLOADS),
}
_FILTER_FIELDS: dict[str, tuple[str, Parser]] = {
    "vendor": ("vendors", texts),
    "segment": ("segments", texts),
    "software": ("software", texts),
    "status": ("statuses", _statuses),
    "rentable": ("rentable", flag),
    "max_usd": ("max_usd", number(1, 1e9)),
    "max_usd_per_hour": ("max_usd_per_hour", number(0.001, 1e6)),
    "max_watts": ("max_watts", number(1, 1e6)),
}
_COST_FIELDS: dict[str, Parser] = {
    "hours_per_day": number(0.01, 24),
    "usd_per_kwh": number(0, 10),
    "amortisation_years": number(0.1, 20),
    "host_usd": number(0, 1e7),
}
_OTHER_FIELDS: dict[str, Parser] = {
    "model": text,
    "revision": text,
    "file": text,
    "quant": texts,
    "gpu": texts,
    "gpu_count": _CARDS,
    "rank_by": _ranking,
    "top": integer(0, 1000),
    "quantized_repos": one_of(LISTINGS),
    "rig": text,
}
_PARSERS: dict[str, Parser] = {
    **_OTHER_FIELDS,
    **_WORKLOAD_FIELDS,
    **{name: parser for name, (_, parser) in _FILTER_FIELDS.items()},
    **_COST_FIELDS,
}
FILTER_FIELDS = tuple(_FILTER_FIELDS)
"""Fields that narrow a ranking down."""
SIZE_FIELDS = tuple(_PARSERS)
"""Every field a size request may have."""


def parse_size_request(fields: Mapping[str, Any]) -> SizeRequest:
    """A checked request. Absent, null and empty fields take their defaults.

    Raises InvalidRequest naming the field, its value and what is wrong with it.
    """
    values = _parse(fields, _PARSERS)
    workload = {name: values[name] for name in _WORKLOAD_FIELDS if name in values}
    asked = {to: values[name] for name, (to, _) in _FILTER_FIELDS.items() if name in values}
    costs = {name: values[name] for name in _COST_FIELDS if name in values}
    return SizeRequest(
        model=values.get("model", ""),
        revision=values.get("revision"),
        file=values.get("file"),
        quants=values.get("quant", (ALL_QUANTS,)),
        workload=Workload(**workload),
        gpus=values.get("gpu", ()),
        gpu_count=values.get("gpu_count"),
        rank_by=values.get("rank_by", RANKINGS[0]),
        top=values.get("top", DEFAULT_TOP),
        quantized_repos=values.get("quantized_repos", ""),
        filters=GpuFilter(**asked),
        assumptions=CostAssumptions(**costs),
        rig=values.get("rig", ""),
    )


def parse_listing(fields: Mapping[str, Any]) -> tuple[str, GpuFilter]:
    """The query and the filters of a listing of the catalogue. Raises InvalidRequest."""
    parsers = {name: parser for name, (_, parser) in _FILTER_FIELDS.items()}
    values = _parse(fields, {"query": text, **parsers})
    asked = {to: values[name] for name, (to, _) in _FILTER_FIELDS.items() if name in values}
    return values.get("query", ""), GpuFilter(**asked)


def parse_gpu_list(value: Any) -> tuple[str, ...]:
    """The `gpus` field of a comparison: at least one name.

    Raises InvalidRequest.
    """
    gpus = texts("gpus", value)
    if not gpus:
        raise fail("gpus", value, "empty")
    return gpus


def _parse(fields: Mapping[str, Any], parsers: Mapping[str, Parser]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field, value in fields.items():
        if field not in parsers:
            raise fail(str(field)[:40], value, "unknown_field")
        if value is None or value in ("", [], ()):
            continue
        values[field] = parsers[field](field, value)
    return values
