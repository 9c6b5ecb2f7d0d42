"""Reads `data/gpus.csv` and `data/gpu_aliases.csv`; lists the columns of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import get_args

from gpusizer.core.loose_values import Arguments
from gpusizer.core.tables import TableRow, read_table, toml_of
from gpusizer.core.units import GB, MIB, TERA
from gpusizer.gpus.gpu import Confidence, Gpu, MemoryBasis, Price, PriceBasis, Status, Support

Parse = Callable[[str], object]
Columns = Mapping[str, tuple[str, Parse]]


def read_gpus(gpus_csv: Path, aliases_csv: Path) -> tuple[Gpu, ...]:
    """Every row in file order.

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
    """Alias -> slug, in file order. Raises MalformedTable for an empty or repeated alias."""
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


_PARSERS: Mapping[str, Parse] = {
    "text": str,
    "required": _required,
    "count": _count,
    "number": _number,
    "optional_number": _optional(_number),
    "integer": _optional(lambda text: int(_number(text))),
    "giga": _optional(_times(GB)),
    "tera": _optional(_times(TERA)),
    "mib": lambda text: _count(text) * MIB,
    "optional_mib": _optional(lambda text: _count(text) * MIB),
    "evidence": _evidence,
    "optional_evidence": _optional(_evidence),
    "flag": _boolean,
    "support": _support,
    "ecc": _one_of("yes", "no", "optional"),
    "status": _one_of(*get_args(Status)),
    "confidence": _one_of(*get_args(Confidence)),
}
COLUMNS: Columns = {
    column: (field, _PARSERS[parser]) for column, (field, parser) in toml_of(__file__).items()
}
_PRICE_COLUMNS = ("rent_source", "rent_date")
