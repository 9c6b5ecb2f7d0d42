"""`data/gpus.csv` and `data/gpu_aliases.csv` -> Gpu. The file's columns are written out here."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args

from gpusizer.gpus.gpu import Confidence, Gpu, MemoryBasis, Price, PriceBasis, Status, Support
from gpusizer.units import GB, MIB, TERA

Row = Mapping[str, str]
Parse = Callable[[str], Any]
Columns = Mapping[str, tuple[str, Parse]]


def read_gpus(gpus_csv: Path, aliases_csv: Path) -> tuple[Gpu, ...]:
    """Every row in file order. Raises ValueError naming file, line and field of what is wrong."""
    aliases = read_aliases(aliases_csv)
    named: dict[str, list[str]] = {}
    for alias, slug in aliases.items():
        named.setdefault(slug, []).append(alias)
    # Most fields say what another row has said in the same words.
    columns = {column: (field, cache(parse)) for column, (field, parse) in COLUMNS.items()}
    gpus = []
    for place, row in _rows(gpus_csv, ("slug", *COLUMNS, *_PRICE_COLUMNS)):
        gpus.append(_gpu(place, row, columns, tuple(named.get(row["slug"], ()))))
    unknown = set(aliases.values()) - {gpu.slug for gpu in gpus}
    if unknown:
        raise ValueError(f"{aliases_csv.name}: field slug: no such GPU: {sorted(unknown)}")
    return tuple(gpus)


def read_aliases(aliases_csv: Path) -> dict[str, str]:
    """Alias -> slug, in file order."""
    aliases: dict[str, str] = {}
    for place, row in _rows(aliases_csv, ("alias", "slug")):
        if not row["alias"] or row["alias"] in aliases:
            raise ValueError(f"{place}: field alias: empty or repeated: {row['alias']!r}")
        aliases[row["alias"]] = row["slug"]
    return aliases


def _rows(path: Path, columns: tuple[str, ...]) -> list[tuple[str, Row]]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        header = next(reader, [])
        missing = set(columns) - set(header)
        if missing:
            raise ValueError(f"{path.name}, line 1: missing columns {sorted(missing)}")
        rows: list[tuple[str, Row]] = []
        for fields in filter(None, reader):
            place = f"{path.name}, line {reader.line_num}"
            if len(fields) != len(header):
                raise ValueError(f"{place}: {len(header)} fields expected")
            rows.append((place, dict(zip(header, fields, strict=True))))
    return rows


def _gpu(place: str, row: Row, columns: Columns, aliases: tuple[str, ...]) -> Gpu:
    values: dict[str, Any] = {"slug": row["slug"], "aliases": aliases}
    for column, (field, parse) in columns.items():
        try:
            values[field] = parse(row[column])
        except ValueError as error:
            raise ValueError(f"{place}: field {column}: {error}") from error
    memory_basis, memory_note = values.pop("memory_evidence")
    launch, street, rent = (values.pop(key) for key in ("launch_usd", "street_usd", "rent_usd"))
    return Gpu(
        **values,
        memory_basis=memory_basis,
        memory_note=memory_note,
        launch=_price(launch, "launch", row["sources"], ""),
        street=_price(street, "street", row["street_source"], row["street_date"]),
        rent=_price(rent, "rent", row["rent_source"], row["rent_date"]),
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


_tera = _optional(_times(TERA))
_giga = _optional(_times(GB))
_maybe_int = _optional(lambda text: int(_number(text)))
_maybe_number = _optional(_number)

_PRICE_COLUMNS = ("street_source", "street_date", "rent_source", "rent_date")

# Column of the file -> (field of Gpu, parser). Not derived from the dataclass: a new field
# must not change the published file by accident.
COLUMNS: Columns = {
    "name": ("name", _required),
    "vendor": ("vendor", _required),
    "segment": ("segment", _required),
    "architecture": ("architecture", _required),
    "compute_capability": ("compute_capability", str),
    "release_year": ("release_year", _count),
    "memory_gb": ("memory_marketing_gb", _number),
    "memory_usable_mib": ("memory_bytes", lambda text: _count(text) * MIB),
    "memory_usable_basis": ("memory_evidence", _evidence),
    "memory_type": ("memory_type", str),
    "memory_bandwidth_gbs": ("bandwidth_bytes_per_second", _giga),
    "bus_width_bits": ("bus_width_bits", _maybe_int),
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
    "shader_cores": ("shader_cores", _maybe_int),
    "tensor_cores": ("tensor_cores", _maybe_int),
    "sm_or_cu": ("compute_units", _maybe_int),
    "boost_mhz": ("boost_mhz", _maybe_number),
    "tdp_w": ("power_watts", _maybe_number),
    "form_factor": ("form_factor", _required),
    "slots": ("slots", _maybe_number),
    "pcie_gen": ("pcie_generation", _maybe_int),
    "pcie_lanes": ("pcie_lanes", _maybe_int),
    "pcie_gbs_bidirectional": ("pcie_bytes_per_second", _giga),
    "nvlink": ("nvlink", _boolean),
    "nvlink_gen": ("nvlink_generation", _maybe_int),
    "nvlink_gbs_total": ("nvlink_bytes_per_second", _giga),
    "interconnect": ("interconnect", str),
    "interconnect_gbs_total": ("interconnect_bytes_per_second", _giga),
    "interconnect_domain": ("interconnect_domain", _maybe_int),
    "multi_gpu_note": ("multi_gpu_note", str),
    "bf16_support": ("bf16_support", _boolean),
    "fp8_support": ("fp8_support", _boolean),
    "fp4_support": ("fp4_support", _boolean),
    "int8_support": ("int8_support", _boolean),
    "flash_attn2_support": ("flash_attention_2", _support),
    "software": ("software", _required),
    "status": ("status", _one_of(*get_args(Status))),
    "confidence": ("confidence", _one_of(*get_args(Confidence))),
    "launch_usd": ("launch_usd", _maybe_number),
    "launch_price_note": ("launch_note", str),
    "street_usd": ("street_usd", _maybe_number),
    "rent_usd_hour": ("rent_usd", _maybe_number),
    "sources": ("sources", _required),
    "notes": ("notes", str),
}
