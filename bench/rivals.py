"""Numbers of other calculators for the measured models: a naive formula, and hf-mem.

The naive calculator takes parameters times nominal bytes; 2 x layers x KV heads x head width x 2
bytes for the cache, on every layer; and 20% on top for everything else. hf-mem's answers are read
from `data/generated/hf_mem.csv`, which `python -m bench.hf_mem` writes. hf-mem is run with the
settings of a row, as gpusizer is; if the cache type is `auto`, it is also run with the type that
`auto` means.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from bench.measurements import Row
from gpusizer.core.dtypes import DTYPE_BITS
from gpusizer.core.paths import GENERATED_DIR
from gpusizer.memory.quants import Quant
from gpusizer.model.profile import ModelProfile

NAIVE_OVERHEAD = 0.20
_KEY_AND_VALUE = 2
_CACHE_BYTES = 2


def naive_weights_bytes(profile: ModelProfile, quant: Quant, *, native: bool) -> float:
    """Return the bytes of all parameters at the quantization's nominal bits per weight."""
    bits: float = quant.bits
    if native:
        stored = profile.quantization.bits if profile.quantization else None
        bits = stored or DTYPE_BITS[profile.native_dtype]
    return profile.parameters * bits / 8


def naive_kv_bytes_per_token(profile: ModelProfile) -> float:
    """Return bytes per token by the formula above, without windows, latents or recurrent layers."""
    arch = profile.architecture
    if arch is None:
        return 0.0
    heads = arch.kv_heads or arch.attention_heads or 0
    width = arch.head_dim or (arch.hidden_size or 0) // (arch.attention_heads or 1)
    return float(_KEY_AND_VALUE * arch.layers * heads * width * _CACHE_BYTES)


ANSWERS = GENERATED_DIR / "hf_mem.csv"
COLUMNS = (
    "model",
    "context",
    "sequences",
    "kv_cache_dtype",
    "weights_bytes",
    "kv_bytes",
    "error",
    "version",
)
AUTO, NAMED = "auto", "bfloat16"
_SIXTEEN_BITS = {"f16", "bf16"}


@dataclass(frozen=True, slots=True, order=True)
class Question:
    """The settings of one run of hf-mem: for weights only, or with a cache of whole sequences."""

    model: str  # ID of the repository
    context: int = 0  # tokens of the cache, 0 for the weights only
    sequences: int = 0  # 0 for the weights only
    kv_cache_dtype: str = ""  # "" for the weights only

    @property
    def options(self) -> list[str]:
        """Options of hf-mem's command line."""
        options = ["--model-id", self.model, "--json-output"]
        if self.context:
            options += ["--experimental", "--max-model-len", str(self.context)]
            options += ["--batch-size", str(self.sequences)]
            options += ["--kv-cache-dtype", self.kv_cache_dtype]
        return options

    @property
    def named(self) -> Question:
        """The question with the type that `auto` means in the measured engines."""
        return replace(self, kv_cache_dtype=NAMED) if self.kv_cache_dtype == AUTO else self


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a run: bytes, or the error that ended it."""

    weights_bytes: int | None
    kv_bytes: int | None
    error: str
    version: str

    def bytes_of(self, question: Question) -> int | None:
        """Return the bytes of the cache if the question has one, else of the weights."""
        return self.kv_bytes if question.context else self.weights_bytes


@dataclass(frozen=True, slots=True)
class Rival:
    """hf-mem's number for one measured component."""

    question: Question  # hf-mem's run with the row's own settings
    asked: bool  # whether the file has an answer to it
    value: float | None  # the number, or None
    named: float | None  # number with an explicit cache type, or None

    @property
    def questions(self) -> tuple[Question, ...]:
        """All runs of hf-mem for this component."""
        return tuple(dict.fromkeys((self.question, self.question.named)))


Answers = dict[Question, Answer]


@cache
def load_answers(path: Path = ANSWERS) -> Answers:
    """Read all runs in the file; return an empty dict if there is no file."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        return dict(map(_from_csv, csv.DictReader(file)))


def versions(path: Path = ANSWERS) -> str:
    """Return the releases of hf-mem in the file."""
    return ", ".join(sorted({answer.version for answer in load_answers(path).values()}))


def _from_csv(row: dict[str, str]) -> tuple[Question, Answer]:
    context, sequences, weights, kv = (
        int(row[name]) if row[name] else None
        for name in ("context", "sequences", "weights_bytes", "kv_bytes")
    )
    question = Question(row["model"], context or 0, sequences or 0, row["kv_cache_dtype"])
    return question, Answer(weights, kv, row["error"], row["version"])


def write_answers(answers: Answers, path: Path = ANSWERS) -> None:
    """Write a line per run, in order of the models."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for question, answer in sorted(answers.items(), key=lambda item: item[0]):
            settings = (question.context or "", question.sequences or "", question.kv_cache_dtype)
            results = (answer.weights_bytes, answer.kv_bytes, answer.error, answer.version)
            writer.writerow((question.model, *settings, *results))


def rival_number(question: Question, divisor: float, answers: Answers | None = None) -> Rival:
    """Return hf-mem's bytes divided by `divisor`, the ranks or tokens of the row's unit."""
    stored = load_answers() if answers is None else answers
    value, named = (_divided(stored.get(q), q, divisor) for q in (question, question.named))
    return Rival(question, question in stored, value, named)


def _divided(answer: Answer | None, question: Question, divisor: float) -> float | None:
    amount = answer.bytes_of(question) if answer else None
    return None if amount is None else amount / divisor


def hf_mem_weights(row: Row, gpus: int) -> Rival | None:
    """Return the stored weights' bytes per GPU; None for converted weights, which hf-mem lacks."""
    return rival_number(Question(row["profile"]), gpus) if row["quant"] == "native" else None


def hf_mem_serving_cache(row: Row, context: int, divisor: int) -> Rival:
    """Return the cache of one full sequence; hf-mem uses the engine's names of cache types."""
    question = Question(row["profile"], context, 1, row.get("kv_dtype", AUTO))
    return rival_number(question, divisor)


def hf_mem_llama_cache(row: Row) -> Rival | None:
    """Return llama.cpp's cache of 16 bits; None for others, which hf-mem has for GGUF only."""
    context, sequences = row.get("context", 0), row.get("sequences", 1)
    if not context or not {row.get("kv_k"), row.get("kv_v", "f16")} <= _SIXTEEN_BITS:
        return None
    question = Question(row["profile"], -(-context // sequences), sequences, NAMED)
    return rival_number(question, 1)


def questions(rivals: Iterable[Rival | None]) -> list[Question]:
    """Return all runs that these need, each once."""
    return sorted({question for rival in rivals if rival for question in rival.questions})
