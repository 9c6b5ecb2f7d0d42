"""A run that was measured here, as a row of `data/measurements/throughput.jsonl` to contribute."""

from __future__ import annotations

from gpusizer.answers.logs.contribution import Row, contributed
from gpusizer.answers.logs.llama_bench import BenchReport
from gpusizer.answers.logs.vllm_metrics import ServedLoad
from gpusizer.answers.report import Report
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.model.profile import ModelProfile


def llama_row(bench: BenchReport, report: Report, gpu: str) -> Row:
    """The tests as a row: the answer behind the fewest tokens, and the prompt of an empty cache."""
    answers = sorted((t for t in bench.tests if t.is_answer), key=lambda test: test.depth)
    prompts = [test for test in bench.tests if test.is_prompt and not test.depth]
    settings: Row = {}
    measured: Row = {}
    for answer in answers[:1]:
        settings["context"] = answer.depth + answer.generated_tokens // 2
        settings["generated_tokens"] = answer.generated_tokens
        measured["decode_tokens_per_second"] = round(answer.tokens_per_second, 2)
    for prompt in prompts[:1]:
        settings["prompt_tokens"] = prompt.prompt_tokens
        measured["prefill_tokens_per_second"] = round(prompt.tokens_per_second, 2)
    about: Row = {
        "engine": "llama.cpp",
        "front_end": "llama-bench",
        "engine_version": bench.build,
        "backend": bench.backend.upper(),
        "quantization": bench.label,
        "gguf_file": bench.file,
        "kv_k": bench.kv_dtype.partition("/")[0],
        "kv_v": bench.kv_dtype.rpartition("/")[2],
        "flash_attention": bench.flash_attention,
        "split": bench.split,
    }
    about |= {**_of(report, gpu), **settings, "measured": measured}
    return contributed("throughput", about, confidence="high")


def vllm_row(load: ServedLoad, report: Report, users: int, gpu: str, version: str) -> Row:
    """What a server did as a row: the speed of one user, or of all together."""
    alone = users == 1
    name = "decode_tokens_per_second" if alone else "serving_tokens_per_second"
    rate = load.user_tokens_per_second if alone else load.total_tokens_per_second
    about: Row = {
        "engine": "vllm",
        "front_end": "vllm /metrics",
        "engine_version": version,
        "kv_dtype": load.kv_dtype,
        "prompt_tokens": load.prompt_tokens,
        "generated_tokens": load.answer_tokens,
        "concurrency": users,
    }
    about |= {**_of(report, gpu), "measured": {name: round(rate, 2)}}
    return contributed("throughput", about, confidence="high")


def _of(report: Report, gpu: str) -> Row:
    """What was measured: model, quantization and cards. Names of folders are nobody's business."""
    profile, fit = report.profile, report.ranking[0].fit
    repo = _hub_name(profile)
    return {
        "repo": repo,
        "profile": repo,
        "profile_basis": "file_name" if profile.format == "gguf" else "id",
        "quant": fit.estimate.quant.slug,
        "gpu": gpu,
        "gpu_slug": fit.gpu.slug,
        "gpu_count": fit.count,
    }


def _hub_name(profile: ModelProfile) -> str:
    if profile.format == "gguf" and profile.base_models:
        return profile.base_models[0]
    return profile.repo_id if is_repo_id(profile.repo_id) else ""
