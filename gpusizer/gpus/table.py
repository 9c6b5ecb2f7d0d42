"""Reader of `data/gpus.csv` and `data/gpu_aliases.csv`, with the columns of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import get_args

from gpusizer.core.loose_values import Arguments
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import GB, MIB, TERA
from gpusizer.gpus.gpu import Confidence, Gpu, MemoryBasis, Price, PriceBasis, Status, Support

Parse = Callable[[str], object]
Columns = Mapping[str, tuple[str, Parse]]


def read_gpus(gpus_csv: Path, aliases_csv: Path) -> tuple[Gpu, ...]:
    """Return all rows in file order.

    Raises MalformedTable, and ValueError for an alias of a GPU that is not in the table.
    """
    aliases = read_aliases(aliases_csv)
    aliases_by_slug: dict[str, list[str]] = {}
    for alias, slug in aliases.items():
        aliases_by_slug.setdefault(slug, []).append(alias)
    # Rows repeat most cells in the same words, so that each parser remembers its results.
    columns = {column: (field, cache(parse)) for column, (field, parse) in COLUMNS.items()}
    gpus = read_table(
        gpus_csv,
        lambda row: _gpu(row, columns, tuple(aliases_by_slug.get(row.text("slug"), ()))),
        ("slug", *COLUMNS, *_PRICE_COLUMNS),
    )
    unknown = set(aliases.values()) - {gpu.slug for gpu in gpus}
    if unknown:
        raise ValueError(f"{aliases_csv.name}: field slug: no such GPU: {sorted(unknown)}")
    return gpus


def read_aliases(aliases_csv: Path) -> dict[str, str]:
    """Return slugs by alias, in file order.

    Raises MalformedTable for an empty or repeated alias.
    """
    aliases: dict[str, str] = {}

    def add(row: TableRow) -> None:
        alias = row.text("alias")
        if not alias or alias in aliases:
            raise row.malformed("alias", f"empty or repeated: {alias!r}")
        aliases[alias] = row.text("slug")

    read_table(aliases_csv, add, ("alias", "slug"))
    return aliases


def _gpu(row: TableRow, columns: Columns, aliases: tuple[str, ...]) -> Gpu:
    values: Arguments = {"slug": row.text("slug"), "aliases": aliases}
    for column, (field, parse) in columns.items():
        values[field] = row.parsed(column, parse)
    memory_basis, memory_note = values.pop("memory_evidence")
    torch_basis, torch_note = values.pop("torch_memory_evidence") or (None, "")
    launch, rent = (values.pop(key) for key in ("launch_usd", "rent_usd"))
    return Gpu(
        **values,
        memory_basis=memory_basis,
        memory_note=memory_note,
        torch_memory_basis=torch_basis,
        torch_memory_note=torch_note,
        launch=_price(launch, "launch", row.text("sources"), ""),
        rent=_price(rent, "rent", row.text("rent_source"), row.text("rent_date")),
    )


def _price(usd: float | None, basis: PriceBasis, source: str, date: str) -> Price | None:
    return None if usd is None else Price(usd, basis, source, date or None)


def _required(text: str) -> str:
    if not text:
        raise ValueError("empty")
    return text


def _number(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1e9:
        raise ValueError(f"out of range: {text!r}")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(f"not positive: {text!r}")
    return value


def _mib(text: str) -> int:
    return _count(text) * MIB


def _optional(parse: Parse) -> Parse:
    return lambda text: parse(text) if text else None


def _times(unit: int) -> Parse:
    # Rounded to a whole unit per second: 330.3 TFLOPS is 330_300_000_000_000, not …000.06.
    return lambda text: round(_number(text) * unit)


def _boolean(text: str) -> bool:
    _one_of("true", "false")(text)
    return text == "true"


def _one_of(*allowed: str) -> Parse:
    def parse(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return text

    return parse


def _support(text: str) -> Support:
    words: dict[str, Support] = {"true": "yes", "partial": "partial", "false": "no"}
    if text not in words:
        raise ValueError(f"{text!r} is not one of {', '.join(words)}")
    return words[text]


def _evidence(text: str) -> tuple[str, str]:
    basis, _, note = text.partition(": ")
    _one_of(*get_args(MemoryBasis))(basis)
    return basis, _required(note)


_integer = _optional(lambda text: int(_number(text)))
_giga, _tera = _optional(_times(GB)), _optional(_times(TERA))
# Not derived from the dataclass: a new field must not change the published file by accident.
# Columns of `data/gpus.csv`: the field of Gpu that each fills, and the parser of its cell.
COLUMNS: Columns = {
    "name": ("name", _required),
    "vendor": ("vendor", _required),
    "segment": ("segment", _required),
    "architecture": ("architecture", _required),
    "compute_capability": ("compute_capability", str),
    "release_year": ("release_year", _count),
    "memory_gb": ("memory_marketing_gb", _number),
    "memory_usable_mib": ("memory_bytes", _mib),
    "memory_usable_basis": ("memory_evidence", _evidence),
    "memory_torch_mib": ("torch_memory_bytes", _optional(_mib)),
    "memory_torch_basis": ("torch_memory_evidence", _optional(_evidence)),
    "memory_type": ("memory_type", str),
    "memory_bandwidth_gbs": ("bandwidth_bytes_per_second", _giga),
    "bus_width_bits": ("bus_width_bits", _integer),
    "ecc": ("ecc", _one_of("yes", "no", "optional")),
    "unified_memory": ("unified_memory", _boolean),
    "devices_per_board": ("devices_per_board", _count),
    "fp32_tflops": ("fp32_flops", _tera),
    "fp16_vector_tflops": ("fp16_vector_flops", _tera),
    "fp16_tensor_tflops_dense": ("fp16_tensor_flops", _tera),
    "fp16_tflops_fp16acc_dense": ("fp16_tensor_fp16acc_flops", _tera),
    "bf16_tflops_dense": ("bf16_flops", _tera),
    "tf32_tflops_dense": ("tf32_flops", _tera),
    "int8_tops_dense": ("int8_ops", _tera),
    "fp8_tflops_dense": ("fp8_flops", _tera),
    "fp4_tflops_dense": ("fp4_flops", _tera),
    "shader_cores": ("shader_cores", _integer),
    "tensor_cores": ("tensor_cores", _integer),
    "sm_or_cu": ("compute_units", _integer),
    "boost_mhz": ("boost_mhz", _optional(_number)),
    "tdp_w": ("power_watts", _optional(_number)),
    "form_factor": ("form_factor", _required),
    "slots": ("slots", _optional(_number)),
    "pcie_gen": ("pcie_generation", _integer),
    "pcie_lanes": ("pcie_lanes", _integer),
    "pcie_gbs_bidirectional": ("pcie_bytes_per_second", _giga),
    "nvlink": ("nvlink", _boolean),
    "nvlink_gen": ("nvlink_generation", _integer),
    "nvlink_gbs_total": ("nvlink_bytes_per_second", _giga),
    "interconnect": ("interconnect", str),
    "interconnect_gbs_total": ("interconnect_bytes_per_second", _giga),
    "interconnect_domain": ("interconnect_domain", _integer),
    "multi_gpu_note": ("multi_gpu_note", str),
    "bf16_support": ("bf16_support", _boolean),
    "fp8_support": ("fp8_support", _boolean),
    "fp4_support": ("fp4_support", _boolean),
    "int8_support": ("int8_support", _boolean),
    "flash_attn2_support": ("flash_attention_2", _support),
    "software": ("software", _required),
    "status": ("status", _one_of(*get_args(Status))),
    "confidence": ("confidence", _one_of(*get_args(Confidence))),
    "launch_usd": ("launch_usd", _optional(_number)),
    "launch_price_note": ("launch_note", str),
    "rent_usd_hour": ("rent_usd", _optional(_number)),
    "sources": ("sources", _required),
    "notes": ("notes", str),
}
_PRICE_COLUMNS = ("rent_source", "rent_date")
