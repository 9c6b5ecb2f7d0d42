"""Requests from people and programs, checked field by field before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusizer.costs import DEFAULT_ASSUMPTIONS, CostAssumptions
from gpusizer.errors import InvalidRequest
from gpusizer.filters import IN_PRODUCTION, NO_FILTER, STATUSES, GpuFilter
from gpusizer.kv_cache import ALIASES, BYTES_PER_ELEMENT
from gpusizer.workload import OFFLOADS, Workload

ALL_QUANTS = "all"
NATIVE_QUANT = "native"
RANKINGS = (
    "smallest", "cheapest", "fastest", "cheapest_to_run", "cheapest_per_hour",
    "tokens_per_dollar", "tokens_per_watt", "headroom", "training", "inference",
)  # fmt: skip
LISTINGS = ("list", "sizes")
DEFAULT_TOP = 20
_MAX_LIST = 64
_MAX_TEXT = 300


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


Parser = Callable[[str, Any], Any]


def _fail(field: str, value: Any, reason: str, **facts: str | float) -> InvalidRequest:
    return InvalidRequest(field=field, value=str(value)[:80], reason=reason, **facts)


def _integer(low: int, high: int) -> Parser:
    def parse(field: str, value: Any) -> int:
        if isinstance(value, str):
            text = value.strip().replace("_", "").replace(",", "")
            value = int(text) if text.lstrip("-").isdecimal() and len(text) < 16 else value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise _fail(field, value, "not_an_integer")
        if not low <= value <= high:
            raise _fail(field, value, "out_of_range", low=low, high=high)
        return value

    return parse


def _number(low: float, high: float) -> Parser:
    def parse(field: str, value: Any) -> float:
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise _fail(field, value, "not_a_number") from None
        if isinstance(value, bool) or not low <= number <= high:
            raise _fail(field, value, "out_of_range", low=low, high=high)
        return number

    return parse


def _flag(field: str, value: Any) -> bool:
    known = {True: True, False: False, "true": True, "false": False, "on": True, "off": False}
    key = value.lower() if isinstance(value, str) else value
    if not isinstance(key, bool | str) or key not in known:
        raise _fail(field, value, "not_a_boolean")
    return known[key]


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _fail(field, value, "not_text")
    if len(value) > _MAX_TEXT:
        raise _fail(field, value, "too_long")
    return value.strip()


def _ranking(field: str, value: Any) -> str:
    """A policy, with hyphens or underscores between its words."""
    known: str = _one_of(*RANKINGS)(field, _text(field, value).replace("-", "_"))
    return known


def _statuses(field: str, value: Any) -> tuple[str, ...]:
    known = _one_of(*STATUSES, IN_PRODUCTION)
    return tuple(known(field, text) for text in _texts(field, value))


def _one_of(*choices: str) -> Parser:
    def parse(field: str, value: Any) -> str:
        text = _text(field, value).lower()
        if text not in choices:
            raise _fail(field, value, "not_one_of", choices=", ".join(choices))
        return text

    return parse


def _cache_type(field: str, value: Any) -> str:
    """One type, or those of keys and values: "q8_0/f16"."""
    known = _one_of(*BYTES_PER_ELEMENT, *ALIASES)
    keys, *values = _text(field, value).split("/", 1)
    return "/".join(known(field, part) for part in (keys, *values))


def _texts(field: str, value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise _fail(field, value, "not_a_list")
    if len(items) > _MAX_LIST:
        raise _fail(field, f"{len(items)} items", "out_of_range", low=0, high=_MAX_LIST)
    return tuple(text for text in (_text(field, item) for item in items) if text)


_CARDS = _integer(1, 1024)
_WORKLOAD_FIELDS: dict[str, Parser] = {
    "context": _integer(1, 10_000_000),
    "concurrency": _integer(1, 100_000),
    "kv_dtype": _cache_type,
    "engine": _text,
    "engine_version": _text,
    "tensor_parallel": _CARDS,
    "pipeline_parallel": _CARDS,
    "expert_parallel": _CARDS,
    "memory_utilization": _number(0.1, 1.0),
    "max_num_seqs": _integer(1, 100_000),
    "max_num_batched_tokens": _integer(1, 10_000_000),
    "batch_size": _integer(1, 1_000_000),
    "ubatch_size": _integer(1, 1_000_000),
    "enforce_eager": _flag,
    "text_only": _flag,
    "draft_tokens": _integer(0, 64),
    "flash_attention": _flag,
    "gpu_layers": _integer(0, 10_000),
    "cpu_moe": _flag,
    "width": _integer(16, 16_384),
    "height": _integer(16, 16_384),
    "frames": _integer(1, 10_000),
    "cpu_offload": _one_of(*OFFLOADS),
}
_FILTER_FIELDS: dict[str, tuple[str, Parser]] = {
    "vendor": ("vendors", _texts),
    "segment": ("segments", _texts),
    "software": ("software", _texts),
    "status": ("statuses", _statuses),
    "rentable": ("rentable", _flag),
    "max_usd": ("max_usd", _number(1, 1e9)),
    "max_usd_per_hour": ("max_usd_per_hour", _number(0.001, 1e6)),
    "max_watts": ("max_watts", _number(1, 1e6)),
}
_COST_FIELDS: dict[str, Parser] = {
    "hours_per_day": _number(0.01, 24),
    "usd_per_kwh": _number(0, 10),
    "amortisation_years": _number(0.1, 20),
    "host_usd": _number(0, 1e7),
}
_OTHER_FIELDS: dict[str, Parser] = {
    "model": _text,
    "revision": _text,
    "file": _text,
    "quant": _texts,
    "gpu": _texts,
    "gpu_count": _CARDS,
    "rank_by": _ranking,
    "top": _integer(0, 1000),
    "quantized_repos": _one_of(*LISTINGS),
    "rig": _text,
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
    values = _parse(fields, {"query": _text, **parsers})
    asked = {to: values[name] for name, (to, _) in _FILTER_FIELDS.items() if name in values}
    return values.get("query", ""), GpuFilter(**asked)


def parse_gpu_list(value: Any) -> tuple[str, ...]:
    """The `gpus` field of a comparison: at least one name.

    Raises InvalidRequest.
    """
    gpus = _texts("gpus", value)
    if not gpus:
        raise _fail("gpus", value, "empty")
    return gpus


def _parse(fields: Mapping[str, Any], parsers: Mapping[str, Parser]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field, value in fields.items():
        if field not in parsers:
            raise _fail(str(field)[:40], value, "unknown_field")
        if value is None or value in ("", [], ()):
            continue
        values[field] = parsers[field](field, value)
    return values
