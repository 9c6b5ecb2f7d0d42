"""Compares measured amounts with predicted ones. Pure: the predictor is a parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.logs.rules import LogReading, ParsedLog, is_host
from gpusizer.logs.run_request import SERVING, LogRequest, request_of

_LOADED_TWICE = 1.02  # more than the file: mapped pages count under host and GPU
_FEWER_THAN_FIT = 0.9  # of what fits: numbers of tokens are rounded to whole blocks


@dataclass(frozen=True, slots=True)
class Predicted:
    """One predicted amount: bytes, or a count for "max_concurrency"."""

    name: str
    likely: float
    low: float
    high: float

    def over(self, parts: float, name: str) -> Predicted:
        """Return the number of parts of one size that the amount has."""
        return Predicted(name, self.likely / parts, self.low / parts, self.high / parts)


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted amounts of a run."""

    repo: str  # the model as it was read; of GGUF files the model they were made from, if known
    quant: str  # slug of the predicted quantization; `native` when it is the checkpoint as stored
    native: bool
    gpu: str  # slug of the card, "" when none was recognised
    even: bool  # every token of the cache costs the same
    amounts: tuple[Predicted, ...]  # by the names of `ComparedAmount`
    gguf_repo: str = ""  # the repository of GGUF files, "" for others
    notes: tuple[Note, ...] = ()

    def amount(self, name: str) -> Predicted | None:
        """Return the amount of that name, None without a prediction."""
        return next((predicted for predicted in self.amounts if predicted.name == name), None)


Predict = Callable[[LogRequest], Prediction]


@dataclass(frozen=True, slots=True)
class ComparedAmount:
    """One amount measured and predicted, per GPU under serving engines."""

    name: str  # component, as in the published table of errors (bench/evaluation.py)
    # measured, predicted: bytes, or a count for "max_concurrency".
    measured: float
    predicted: float
    # low, high: the predicted band.
    low: float
    high: float
    lines: tuple[int, ...]  # lines of the log with the measurement

    @property
    def error(self) -> float:
        """Signed error of the prediction as a share of the measured value."""
        return self.predicted / self.measured - 1


@dataclass(frozen=True, slots=True)
class LogComparison:
    """A run, its prediction, and their differences."""

    request: LogRequest
    prediction: Prediction
    rows: tuple[ComparedAmount, ...]


def compare_log(parsed: ParsedLog, predict: Predict, model: str, gpu: str = "") -> LogComparison:
    """Return a comparison of every amount that the log states and a prediction has.

    Raise any error of `predict`.
    """
    request = request_of(parsed, model, gpu)
    prediction = predict(request)
    measure = _serving_amounts if parsed.engine in SERVING else _llama_amounts
    rows = []
    for name, reading in measure(parsed, prediction.even):
        predicted = prediction.amount(name)
        if predicted is not None and isinstance(reading.value, int | float) and reading.value > 0:
            band = (predicted.likely, predicted.low, predicted.high)
            rows.append(ComparedAmount(name, reading.value, *band, reading.lines))
    if not prediction.even:
        notes = (*prediction.notes, *_printed_tokens(parsed, request))
        prediction = replace(prediction, notes=notes)
    return LogComparison(request, prediction, tuple(rows))


def _printed_tokens(parsed: ParsedLog, request: LogRequest) -> Iterator[Note]:
    # vLLM's number of tokens for a model whose layers share pages in groups: releases before 0.21
    # print blocks / groups x tokens of a block, which is less than what fits; since then it is the
    # concurrency x the longest sequence (`kv_cache_utils.py`).
    tokens, held = parsed.smallest("kv_tokens"), parsed.smallest("max_concurrency")
    context = request.fields.get("context")
    if request.engine != "vllm" or tokens is None or held is None or not context:
        return
    printed, fits = int(tokens.value), round(float(held.value) * context)
    of_blocks = printed < _FEWER_THAN_FIT * fits
    code = "log_tokens_of_blocks" if of_blocks else "log_tokens_of_requests"
    yield Note(code, printed=printed, fits=fits, context=context)


_Amounts = Iterator[tuple[str, LogReading]]


def _serving_amounts(parsed: ParsedLog, even: bool) -> _Amounts:
    # Amounts of the fullest rank; the smallest pool, which limits.
    for name in ("weights", "weights_and_non_torch", "activations", "non_torch", "graphs"):
        largest = parsed.largest(f"{name}_bytes")
        if largest is not None:
            yield name, largest
    pool, tokens = parsed.smallest("kv_pool_bytes"), parsed.smallest("kv_tokens")
    held = parsed.smallest("max_concurrency")
    if pool is not None:
        yield "kv_pool", pool
    if pool is not None and even and tokens is not None:
        yield "kv_per_token", _ratio(pool, tokens)
    if pool is not None and not even and held is not None:
        yield "kv_per_sequence", _ratio(pool, held)
    if held is not None:
        yield "max_concurrency", held


def _llama_amounts(parsed: ParsedLog, even: bool) -> _Amounts:
    weights, file_bytes = parsed.total("weights_bytes"), parsed.get("file_bytes")
    if weights and not (file_bytes and float(weights.value) > _LOADED_TWICE * file_bytes):
        yield "weights", weights
    placed = parsed.total("weights_bytes", gpus_only=True)
    if placed is not None and placed.value:
        yield "weights_on_gpus", placed
    cache = [r for name in ("kv_bytes", "recurrent_bytes") if (r := parsed.total(name))]
    context_bytes = parsed.total("context_bytes")  # of the table printed at the end
    cache = cache or ([context_bytes] if context_bytes else [])
    if cache:
        value = sum(int(reading.value) for reading in cache)
        lines = tuple(sorted({number for reading in cache for number in reading.lines}))
        yield "kv_cache", LogReading("kv_cache", value, lines=lines)
    buffers = parsed.all_of("compute_bytes")
    cards = [reading for reading in buffers if placed and not is_host(reading.device)]
    compute = max(cards or buffers, key=lambda reading: float(reading.value), default=None)
    if compute is not None:
        yield "compute", compute


def _ratio(pool: LogReading, parts: LogReading) -> LogReading:
    count = float(parts.value)
    value = float(pool.value) / count if count else 0.0
    return LogReading("", value, lines=tuple(sorted({*pool.lines, *parts.lines})))
