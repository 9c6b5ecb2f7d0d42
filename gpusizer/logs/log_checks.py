"""Use cases: a pasted log or a benchmark beside the prediction for its run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpusizer.core.errors import InvalidRequest, ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.validation import fail
from gpusizer.fit.machine_parser import parse_kind
from gpusizer.gpus.names import parse_gpu_request
from gpusizer.launch.benchmark import slowdown_notes
from gpusizer.logs.contribution import Issue, issue_of, llama_row
from gpusizer.logs.llama_bench import BenchReport, BenchTest
from gpusizer.logs.log_comparison import LogComparison, compare_log
from gpusizer.logs.parse import parse_log
from gpusizer.logs.prediction import predictor
from gpusizer.logs.rules import ParsedLog
from gpusizer.model.profile import ModelProfile
from gpusizer.speed import Rate
from gpusizer.speed.work import PROMPT_SHARE
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.request_fields import NATIVE_QUANT
from gpusizer.usecases.sizer import Sizer

Fields = Mapping[str, object]

_LLAMA_CPP = "llama.cpp"


@dataclass(frozen=True, slots=True)
class ComparedSpeed:
    """One measured number and the prediction for it."""

    name: str  # the test as the benchmark calls it
    quantity: str  # "decode" or "prefill", in tokens per second
    measured: float
    predicted: Rate | None  # None without a claimed speed

    @property
    def verdict(self) -> str:
        """Place of the measurement: "in_band", "below", "above", or "unknown"."""
        if self.predicted is None:
            return "unknown"
        if self.measured < self.predicted.low:
            return "below"
        return "above" if self.measured > self.predicted.high else "in_band"


@dataclass(frozen=True, slots=True)
class SpeedCheck:
    """Measured speeds beside predicted ones."""

    engine: str
    model: str
    gpu: str
    count: int
    compared: tuple[ComparedSpeed, ...]
    row: dict[str, object]  # the run in the form of `data/measurements/throughput.jsonl`
    when_less: tuple[Note, ...]  # settings to look at if a speed is below its band


def check_llama_bench(
    sizer: Sizer, bench: BenchReport, model: str, gpu: str = "", quant: str = ""
) -> SpeedCheck:
    """Compare a run of llama-bench with the answers to the same questions.

    `gpu` and `quant` win over what the program printed. Raise any GpusizerError of the questions.
    """
    name, count = _cards(bench, gpu)
    fields = {
        "model": model,
        "engine": _LLAMA_CPP,
        "engine_version": bench.build,
        "backend": bench.backend,
        "quant": quant or _quant(sizer, model, bench),
        "gpu": name,
        "gpu_count": count,
        "kv_dtype": bench.kv_dtype,
        "flash_attention": bench.flash_attention,
        "batch_size": bench.batch_size,
        "ubatch_size": bench.ubatch_size,
        "text_only": True,
        "card": False,
        **_split(bench.split, count),
    }
    answers = [(test, _answer_to(sizer, fields, test)) for test in bench.tests]
    known = [(test, report) for test, report in answers if report is not None]
    if not known:
        raise fail("llama-bench", "", "not_llama_bench")
    report = known[0][1]
    is_whole = _is_whole(bench, report.profile)
    compared = tuple(_compared(test, about if is_whole else None) for test, about in known)
    row = llama_row(bench, report, name)
    checked = _check(report, compared, row)
    return checked if is_whole else replace(checked, when_less=(Note("look_layers_on_gpu"),))


def _check(
    report: Report, compared: tuple[ComparedSpeed, ...], row: dict[str, object]
) -> SpeedCheck:
    fit = report.ranking[0].fit
    is_slow = any(speed.verdict == "below" for speed in compared)
    return SpeedCheck(
        engine=_LLAMA_CPP,
        model=report.profile.repo_id,
        gpu=fit.gpu.slug,
        count=fit.count,
        compared=compared,
        row=row,
        when_less=slowdown_notes(_LLAMA_CPP, fit.gpu, fit.count) if is_slow else (),
    )


def _cards(bench: BenchReport, gpu: str) -> tuple[str, int]:
    """Return the card's name and number of devices. Raise InvalidRequest for different cards."""
    if gpu:
        named = parse_kind(gpu)
        return named.name, named.boards or max(1, len(bench.gpus))
    if len(set(bench.gpus)) != 1:
        raise fail("gpu", ", ".join(bench.gpus), "different_gpus")
    return bench.gpus[0], len(bench.gpus)


def _quant(sizer: Sizer, model: str, bench: BenchReport) -> str:
    # Files of GGUF are measured as they are; other models in the type of the file that ran.
    ref = sizer.parse(model)
    is_file = bool(ref.file or ref.tag) or "gguf" in ref.repo_id.lower()
    return NATIVE_QUANT if is_file else bench.quant


def _split(split: str, count: int) -> Fields:
    if count == 1:
        return {}
    return {"pipeline_parallel": count} if split == "layer" else {"tensor_parallel": count}


def _answer_to(sizer: Sizer, fields: Fields, test: BenchTest) -> Report | None:
    # None for a test of prompt and answer together. A prompt is the share of a request's context
    # that answers assume; prompts behind others are not predicted.
    if test.is_prompt and not test.depth:
        context = round(test.prompt_tokens / PROMPT_SHARE)
    elif test.is_answer:
        context = test.depth + test.generated_tokens // 2
    else:
        return None
    return sizer.size(SizeRequest.from_fields({**fields, "context": max(1, context)}))


def _is_whole(bench: BenchReport, profile: ModelProfile) -> bool:
    # Predicted speeds assume every layer on GPUs; the output counts as one.
    layers = profile.architecture.layers if profile.architecture else 0
    return not bench.cpu_moe_layers and (bench.gpu_layers is None or bench.gpu_layers > layers)


def _compared(test: BenchTest, report: Report | None) -> ComparedSpeed:
    item = report.ranking[0] if report else None
    predicted = None
    if item is not None:
        predicted = item.prefill if test.is_prompt else item.decode
    quantity = "prefill" if test.is_prompt else "decode"
    return ComparedSpeed(test.name, quantity, test.tokens_per_second, predicted)


_NAMES = ("model", "gguf_repo", "repo")


@dataclass(frozen=True, slots=True)
class LogCheck:
    """The result of checking one log."""

    log: ParsedLog
    model: str  # Hub ID of the predicted model, "" when neither log nor caller names one
    # comparison, issue: None without a model that could be read.
    comparison: LogComparison | None
    issue: Issue | None
    notes: tuple[Note, ...]  # facts that the reader needs, as codes


def check(sizer: Sizer, text: str, model: str = "", *, gpu: str = "") -> LogCheck:
    """Read a log, predict its run and compare.

    `model` is needed if the engine loaded a local path, and wins over the log's; so does `gpu`, but
    the log gives the count. Raise InvalidRequest when this is no start-up log or a value of it is
    impossible, UnknownGpu for an unknown `gpu`, and any error of reading `model`.
    """
    if not isinstance(text, str):
        raise InvalidRequest(field="log", value="", reason="not_text")
    parsed = parse_log(text)
    asked = parse_gpu_request(gpu)
    if gpu:
        sizer.catalogue.find(asked.name)
    notes = [Note("log_cut", lines=parsed.lines_read)] if parsed.cut else []
    if parsed.loads > 1:
        notes.append(Note("log_several_loads", count=parsed.loads))
    named = model.strip() or next(filter(None, map(parsed.text, _NAMES)), "")
    if not named:
        return LogCheck(parsed, "", None, None, (*notes, Note("log_model_unknown")))
    try:
        comparison = compare_log(parsed, predictor(sizer), named, asked.name)
    except ModelUnreadable as error:
        if model.strip():
            raise
        # A model that only the log names and that cannot be read leaves a note.
        unread = Note("log_model_not_read", model=named, reason=error.code)
        return LogCheck(parsed, named, None, None, (*notes, unread))
    notes += comparison.prediction.notes
    if asked.count not in (None, comparison.request.gpus):
        notes.append(Note("log_gpu_count", count=comparison.request.gpus))
    issue = issue_of(parsed, comparison)
    return LogCheck(parsed, named, comparison, issue, tuple(notes))
