"""ModelCard: what the author of a model says about hardware, as statements with their lines.

Amounts are in the author's own unit, GB as he writes it: cards do not tell 10^9 from 2^30 bytes.
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
    """The arguments of a command that starts an engine, as far as they bear on memory.

    Attributes:
        processes: of a launcher that starts one for each GPU.
        has_dp_attention: data-parallel ranks lie inside the tensor-parallel ones (SGLang's
            `--enable-dp-attention`), and take no GPUs of their own.
    """

    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    data_parallel: int | None = None
    processes: int | None = None
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
        """GPUs that it starts on; None where it does not say."""
        degrees = [self.tensor_parallel, self.pipeline_parallel, self.processes]
        if not self.has_dp_attention:
            degrees.append(self.data_parallel)
        named = [degree for degree in degrees if degree is not None]
        return prod(named) if named else None


@dataclass(frozen=True, slots=True)
class ListedQuantization:
    """One row of a table of quantized files or branches.

    Attributes:
        branch: branch that holds it, where quantizations are branches.
        size_gb: of the file.
        ram_gb: system memory that the author says it takes with nothing on a GPU.
    """

    branch: str | None = None
    group_size: int | None = None
    size_gb: float | None = None
    ram_gb: float | None = None


@dataclass(frozen=True, slots=True)
class ModelCardStatement:
    """One claim, with the line of the card that it stands on.

    A sentence with several claims is several statements with one line and quote.

    Attributes:
        line: 1 is the first line of the file; `last_line` is where the text ends.
        quote: its text, printable, cut at 200 characters.
        is_requirement: the text itself says what running the model needs, or what suffices.
        model: model that the claim names; None where it names none.
        vram_gb: memory of all GPUs together; `vram_gb_high` ends a range.
        vram_gb_per_gpu: memory of one GPU.
        unified_memory_gb: memory of a machine that shares it between processor and GPU.
        gpu: name as the author writes it; `gpus` are those that he names as alternatives.
        count: GPUs.
        quant: storage of weights in small letters ("bf16", "int4", "q4_k_m").
        is_quantized: it holds for a quantized model, whatever the quantization.
        with_offload: it holds with weights or layers that wait in system memory.
        context: tokens of one sequence; `native_context` before an extension by `yarn_factor`.
        engine: slug of the engine that it is about, also of one that is not sized here
            ("fastdeploy").
        file: name of a file of weights, without its folders.
    """

    kind: Kind
    line: int
    last_line: int
    quote: str
    is_requirement: bool = False
    bound: Bound | None = None
    model: str | None = None
    vram_gb: float | None = None
    vram_gb_high: float | None = None
    vram_gb_per_gpu: float | None = None
    unified_memory_gb: float | None = None
    gpu: str | None = None
    gpus: tuple[str, ...] = ()
    count: int | None = None
    quant: str | None = None
    bits: float | None = None
    is_quantized: bool = False
    with_offload: bool = False
    context: int | None = None
    native_context: int | None = None
    yarn_factor: float | None = None
    engine: str | None = None
    file: str | None = None
    command: EngineCommand | None = None
    listed: ListedQuantization | None = None

    def to_json(self) -> dict[str, JsonValue]:
        """A flat object: the arguments of a command and the row of a table stand beside the rest.

        What the author does not say is left out.
        """
        parts = (self, self.command, self.listed)
        return {name: value for part in parts if part for name, value in _said(part)}

    @classmethod
    def from_json(cls, data: StoredObject) -> ModelCardStatement:
        """Inverse of `to_json`. Raises KeyError or TypeError for anything else."""
        own = _fields_in(cls, data)
        own["gpus"] = tuple(own.get("gpus", ()))
        if data["kind"] == "command":
            own["command"] = EngineCommand(**_fields_in(EngineCommand, data))
        if data["kind"] == "sibling_table":
            own["listed"] = ListedQuantization(**_fields_in(ListedQuantization, data))
        return cls(**own)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The statements of one card, in the order of their lines, and the card's address.

    `is_partial`: the card is beyond the limits of reading, and what follows its beginning unread.
    """

    url: str
    statements: tuple[ModelCardStatement, ...] = ()
    is_partial: bool = False

    def to_json(self) -> JsonObject:
        partial = {"is_partial": True} if self.is_partial else {}
        statements = [item.to_json() for item in self.statements]
        return {"url": self.url, "statements": statements, **partial}

    @classmethod
    def from_json(cls, data: StoredObject) -> ModelCard:
        """Inverse of `to_json`."""
        statements = tuple(map(ModelCardStatement.from_json, data["statements"]))
        return cls(data["url"], statements, bool(data.get("is_partial")))


_Part = ModelCardStatement | EngineCommand | ListedQuantization


def _said(part: _Part) -> list[tuple[str, JsonValue]]:
    """The fields that differ from their defaults, by name."""
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
