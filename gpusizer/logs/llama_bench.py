"""Output of llama-bench with `-o json`.

Source of llama-bench's fields: `test::get_fields` and `json_printer` of
tools/llama-bench/llama-bench.cpp of ggml-org/llama.cpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field, StrictStr, TypeAdapter, ValidationError

from gpusizer.core.validation import fail
from gpusizer.logs.lines import clean, file_name
from gpusizer.logs.run_request import BACKENDS, gguf_slug

# Characters of a program's output; a test takes about 2,000.
MAX_CHARS = 4_000_000

_MAX_TESTS = 200
_ALL_LAYERS = (-1, 99)
_Integer = Annotated[int, Field(strict=True, ge=-1, lt=10**9)]
_MODEL_TYPE = re.compile(r"\S+ \S+ (?:mostly )?(.{1,40})")


@dataclass(frozen=True, slots=True)
class BenchTest:
    """One line of llama-bench: a prompt, or an answer behind `depth` tokens of context."""

    prompt_tokens: int
    generated_tokens: int
    depth: int
    tokens_per_second: float

    @property
    def is_prompt(self) -> bool:
        """Whether a prompt alone was read."""
        return self.prompt_tokens > 0 and self.generated_tokens == 0

    @property
    def is_answer(self) -> bool:
        """Whether an answer alone was generated."""
        return self.generated_tokens > 0 and self.prompt_tokens == 0

    @property
    def name(self) -> str:
        """Name of the test in llama-bench, such as "pp512" or "tg128 @ d4096"."""
        kind = f"pp{self.prompt_tokens}" if self.is_prompt else f"tg{self.generated_tokens}"
        return f"{kind} @ d{self.depth}" if self.depth else kind


@dataclass(frozen=True, slots=True)
class BenchReport:
    """All tests of one run of llama-bench, and the settings that they share."""

    build: str  # "b1234"
    gpus: tuple[str, ...]  # names of the devices that computed, as the backend calls them
    backend: str  # as in a request: "cuda", "rocm", …
    file: str
    # label, quant: the file's type as printed, and its slug, "" when unknown.
    label: str
    quant: str
    kv_dtype: str
    flash_attention: bool
    gpu_layers: int | None  # None for all
    cpu_moe_layers: int  # number of layers whose experts stayed in system memory
    split: str
    batch_size: int
    ubatch_size: int
    tests: tuple[BenchTest, ...]


class _Row(BaseModel):
    """Fields that are read of one line."""

    build_number: _Integer
    n_gpu_layers: _Integer
    n_batch: _Integer
    n_ubatch: _Integer
    n_prompt: _Integer
    n_gen: _Integer
    n_depth: _Integer = 0
    n_cpu_moe: _Integer = 0
    avg_ts: Annotated[float, Field(strict=True, gt=0, lt=1e9)]
    gpu_info: StrictStr
    backends: StrictStr
    split_mode: StrictStr
    model_type: StrictStr
    model_filename: StrictStr
    type_k: StrictStr
    type_v: StrictStr
    # Builds before August 2025 print true or false, later ones 1, 0 or -1 (auto).
    flash_attn: object = None


_ROWS: TypeAdapter[list[_Row]] = TypeAdapter(
    Annotated[list[_Row], Field(min_length=1, max_length=_MAX_TESTS)]
)


def parse_llama_bench(output: str) -> BenchReport:
    """Read the program's output. Raise InvalidRequest for anything but a list of such tests."""
    # The program may print lines of its backends before the list.
    start, end = output.find("["), output.rfind("]")
    try:
        rows = _ROWS.validate_json(output[start : end + 1] if 0 <= start < end else "")
    except ValidationError:
        raise fail("llama-bench", output.strip()[:60], "not_llama_bench") from None
    first = rows[0]
    names = tuple(clean(name.strip()) for name in first.gpu_info.split(",") if name)
    split, label, layers = first.split_mode, _MODEL_TYPE.match(first.model_type), first.n_gpu_layers
    keys, values = first.type_k, first.type_v
    return BenchReport(
        build=f"b{first.build_number}",
        gpus=names[:1] if split == "none" else names,
        backend=_backend(first.backends),
        file=clean(file_name(first.model_filename)),
        label=clean(label[1]) if label else "",
        quant=gguf_slug(label[1]) if label else "",
        kv_dtype=keys if keys == values else f"{keys}/{values}",
        flash_attention=first.flash_attn not in (0, False),
        gpu_layers=None if layers in _ALL_LAYERS or layers > 1000 else layers,
        cpu_moe_layers=first.n_cpu_moe,
        split=split if len(names) > 1 and split != "none" else "",
        batch_size=first.n_batch,
        ubatch_size=first.n_ubatch,
        tests=tuple(BenchTest(row.n_prompt, row.n_gen, row.n_depth, row.avg_ts) for row in rows),
    )


def _backend(names: str) -> str:
    """Return the first backend of a list that is a GPU's. Raise InvalidRequest without one."""
    known = (BACKENDS.get(name.strip()) for name in names.split(","))
    backend = next(filter(None, known), None)
    if backend is None:
        raise fail("llama-bench", names, "no_gpu_used")
    return backend.lower()
