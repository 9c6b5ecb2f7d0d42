"""A log's table, and the facts and amounts of parsed logs by name."""

from __future__ import annotations

from typing import Any

from gpusizer.logs.rules import ParsedLog

GIB, MIB = 2**30, 2**20
TABLE = (
    "llama_memory_breakdown_print: | memory breakdown [MiB] | total   free     self   model   "
    "context   compute    unaccounted |\n"
    "llama_memory_breakdown_print: |   - CUDA0 (RTX 4090)   | 24077 =  945 + (19187 = 17904 +     "
    "384 +     899) +        3945 |\n"
    "llama_memory_breakdown_print: |   - Host               |                 58271 = 58259 +     "
    "  0 +      12                |\n"
)


def facts(parsed: ParsedLog, *names: str) -> dict[str, Any]:
    return {name: parsed.get(name) for name in names}


def amounts(parsed: ParsedLog) -> dict[tuple[str, str], Any]:
    return {(reading.name, reading.device): reading.value for reading in parsed.measured}
