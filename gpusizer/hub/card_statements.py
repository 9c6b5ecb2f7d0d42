"""Statements of a model card about hardware, each with its lines.

Amounts keep the author's unit: cards write GB for both 10^9 and 2^30 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import prod
from typing import Literal

from gpusizer.core.loose_values import Arguments, JsonObject, JsonValue, StoredObject

MOST_STATEMENTS = 400
MOST_QUOTE_CHARS = 200

Kind = Literal["min_vram", "recommended_vram", "gpus", "command", "context", "sibling_table"]
Bound = Literal["minimum", "approximate", "sufficient", "recommended"]


@dataclass(frozen=True, slots=True)
class EngineCommand:
    """Arguments of a command that starts an engine, as far as they affect memory."""

    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    processes: int | None = None  # of a launcher that starts one process for each GPU
    # Data-parallel ranks lie inside the tensor-parallel ones (SGLang's `--enable-dp-attention`) and
    # take no GPUs of their own.
    has_dp_attention: bool = False
    kv_dtype: str | None = None
    memory_utilization: float | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    enforce_eager: bool = False
    gpu_layers: int | None = None
    flash_attention: bool | None = None
    draft_tokens: int | None = None
    draft_model: str | None = None

    @property
    def gpus(self) -> int | None:
        """Number of GPUs that the command uses, or None if it names no degree."""
        degrees = [self.tensor_parallel, self.pipeline_parallel, self.processes]
        if not self.has_dp_attention:
            degrees.append(self.data_parallel)
        named = [degree for degree in degrees if degree is not None]
        return prod(named) if named else None


@dataclass(frozen=True, slots=True)
class ListedQuantization:
    """One row of a table of quantized files or branches."""

    branch: str | None = None  # branch that holds it, if each quantization has a branch
    group_size: int | None = None
    size_gb: float | None = None  # size of the file
    ram_gb: float | None = None  # system memory that the author states for a run without a GPU


@dataclass(frozen=True, slots=True)
class ModelCardStatement:
    """One claim of a model card, with its line.

    A sentence with several claims yields several statements with one line and quote.
    """

    kind: Kind
    line: int  # counted from 1; `last_line` is the line on which the text ends
    last_line: int
    quote: str  # text of the claim, printable, cut at 200 characters
    # whether the text itself says what running the model needs or what suffices
    is_requirement: bool = False
    bound: Bound | None = None
    model: str | None = None  # model that the claim names, or None
    vram_gb: float | None = None  # memory of all GPUs together; `vram_gb_high` ends a range
    vram_gb_high: float | None = None
    vram_gb_per_gpu: float | None = None  # memory of one GPU
    # memory of a machine that shares it between processor and GPU
    unified_memory_gb: float | None = None
    # name as the author writes it; `gpus` are alternatives that the author names
    gpu: str | None = None
    gpus: tuple[str, ...] = ()
    count: int | None = None  # number of GPUs
    quant: str | None = None  # storage of weights in small letters ("bf16", "int4", "q4_k_m")
    bits: float | None = None
    # whether the claim holds for a quantized model, whatever the quantization
    is_quantized: bool = False
    with_offload: bool = False  # whether some weights or layers are in system memory
    # tokens of one sequence; `native_context` before an extension by `yarn_factor`
    context: int | None = None
    native_context: int | None = None
    yarn_factor: float | None = None
    # slug of the engine, which may be one that is not sized here ("fastdeploy")
    engine: str | None = None
    file: str | None = None  # name of a file of weights, without its folders
    command: EngineCommand | None = None
    listed: ListedQuantization | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """Return a flat object without unset fields.

        Arguments of a command and the row of a table are keys of the same object.
        """
        parts = (self, self.command, self.listed)
        return {name: value for part in parts if part for name, value in _said(part)}

    @classmethod
    def from_json(cls, data: StoredObject) -> ModelCardStatement:
        """Return the statement of an object of `to_json`.

        Raises KeyError or TypeError for other data.
        """
        own = _fields_in(cls, data)
        own["gpus"] = tuple(own.get("gpus", ()))
        if data["kind"] == "command":
            own["command"] = EngineCommand(**_fields_in(EngineCommand, data))
        if data["kind"] == "sibling_table":
            own["listed"] = ListedQuantization(**_fields_in(ListedQuantization, data))
        return cls(**own)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Statements of one card in the order of their lines, and the card's address."""

    url: str
    statements: tuple[ModelCardStatement, ...] = ()
    # whether the card exceeds the limits, so that only its beginning was read
    is_partial: bool = False

    def to_json(self) -> JsonObject:
        partial = {"is_partial": True} if self.is_partial else {}
        statements = [item.to_json() for item in self.statements]
        return {"url": self.url, "statements": statements, **partial}

    @classmethod
    def from_json(cls, data: StoredObject) -> ModelCard:
        """Return the card of an object of `to_json`."""
        statements = tuple(map(ModelCardStatement.from_json, data["statements"]))
        return cls(data["url"], statements, bool(data.get("is_partial")))


_Part = ModelCardStatement | EngineCommand | ListedQuantization


def _said(part: _Part) -> list[tuple[str, JsonValue]]:
    pairs = []
    for field in fields(part):
        value = getattr(part, field.name)
        if field.name in ("command", "listed") or (
            value == field.default and field.name != "is_requirement"
        ):
            continue
        pairs.append((field.name, list(value) if isinstance(value, tuple) else value))
    return pairs


def _fields_in(cls: type[_Part], data: StoredObject) -> Arguments:
    return {field.name: data[field.name] for field in fields(cls) if field.name in data}
