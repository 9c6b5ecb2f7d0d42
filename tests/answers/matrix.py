"""Questions at round rates and lengths on every GPU of the catalogue, by what they ask.

A part is a product of what its arithmetic goes by; what matters less takes turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import cycle, product
from typing import Any

from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.quants.table import all_quants
from gpusizer.training.optimizers import OPTIMIZERS
from gpusizer.training.plan import METHODS, OFFLOADS, SHARDINGS
from gpusizer.training.stacks import stacks
from gpusizer.usecases.near_models import known_models

Case = tuple[str, Mapping[str, Any]]
"""The name of a question, and its fields."""

SLUGS = [gpu.slug for gpu in load_catalogue().gpus]
KNOWN = sorted(model.repo_id for model in known_models())
TEXT = (
    *(
        "Qwen/Qwen3-0.6B",
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-30B-A3B",
        "meta-llama/Llama-3.3-70B-Instruct",
    ),
    *("google/gemma-3-27b-it", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-R1"),
    "ibm-ai-platform/Bamba-9B-v1",
)
"""Dense and sparse models, with grouped, sliding, latent and no attention."""
OTHERS = (
    *("black-forest-labs/FLUX.1-dev", "openai/whisper-large-v3", "BAAI/bge-large-en-v1.5"),
    "google-t5/t5-small",
)
RATES = (0.1, 1, 5, 10, 50, 100)
LENGTHS = ((1000, 100), (100, 1000), (8000, 500), (1, 1))
WAITS = (None, 1000)
USERS = (2, 7, 64, 300, 1000)
CARDS = (
    *("rtx-4090-24gb", "h100-sxm-80gb", "b200-sxm-180gb", "rtx-3060-12gb", "tesla-v100-sxm2-32gb"),
    *("instinct-mi300x-192gb", "instinct-mi250-128gb", "arc-a770-16gb", "apple-m3-max-128gb"),
    *("ascend-910b-64gb", "gaudi-3-128gb", "tesla-k80-24gb", "gb10-dgx-spark-128gb"),
)
"""One of each kind of arithmetic, memory and software."""
RIGS = (
    *("cpu only + 64gb ram", "3090 + 3060 + 64gb ram", "2x 4090 + 8gb ram", "7900 xtx + 32gb ram"),
    *("4090 + 7900 xtx + arc a770", "m3 max 128gb", "8x h100 + 2tb ram", "gtx 1650 4gb + 16gb ram"),
    *("1gb ram", "4096gb ram", "instinct mi250 + 256gb ram", "16x 3060 + 512gb ram"),
)
CUSTOM = (
    *("custom:1GB", "custom:10000GB", "custom:96GB@1GB/s", "custom:96GB@50000GB/s@10000TFLOPS"),
    *("custom:96GB@0.1TFLOPS", "custom:24GB@900GB/s@0USD", "custom:24GB@900GB/s@80TFLOPS@ROCm@fp8"),
    *("custom:64GB@400GB/s@20TFLOPS@Metal", "3x custom:24GB@900GB/s@80TFLOPS@CUDA"),
    *("4090 (23.9 GB used)", "1024x h100-sxm-80gb", "7x rtx-3060-12gb", "a100 (0.1 GB free)"),
)


def _load(rate: float, lengths: Sequence[int], wait: float | None) -> dict[str, Any]:
    prompt, answer = lengths
    load = {"requests_per_second": rate, "prompt_tokens": prompt, "answer_tokens": answer}
    return load if wait is None else {**load, "ttft_ms": wait}


LOADS = [_load(*one) for one in product(RATES, LENGTHS, WAITS)]


def _with_turns(cases: Iterable[Case], **turns: Iterable[Any]) -> Iterator[Case]:
    """Cases with further fields, whose values take turns."""
    rows = zip(cases, *map(cycle, turns.values()), strict=False)
    for (question, fields), *values in rows:
        stated = {name: value for name, value in zip(turns, values, strict=True) if value != ""}
        yield question, {**stated, **fields}


def plans_of_everything() -> Iterator[Case]:
    """A plan with every GPU of the catalogue; with a time for first tokens, which is simulated
    often, at a few loads alone."""
    for model, rate, lengths in product(TEXT, RATES, LENGTHS):
        yield "size", {"model": model, "top": 0, **_load(rate, lengths, None)}
    for model, rate, lengths in product(TEXT[:2], (1, 100), LENGTHS[:2]):
        yield "size", {"model": model, "top": 0, **_load(rate, lengths, 1000)}


def plans_of_a_gpu() -> Iterator[Case]:
    """Every GPU under every load; models, and whether a first token has its time, take turns."""
    cases = [
        ("size", {"gpu": slug, **_load(rate, lengths, WAITS[(number + turn) % len(WAITS)])})
        for number, slug in enumerate(SLUGS)
        for turn, (rate, lengths) in enumerate(product(RATES, LENGTHS))
    ]
    shared, percentiles = ("", "", 1), ("", 50, 99.9, "", "")
    # Numbers of values that have no divisor in common with those of the product.
    models = (*TEXT[:3], "Qwen/Qwen3-8B", *TEXT[3:], "Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B")
    yield from (
        (question, _possible(fields))
        for question, fields in _with_turns(
            cases, model=models, shared_prefix_tokens=shared, ttft_percentile=percentiles
        )
    )


def _possible(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without a shared prefix as long as the prompt."""
    if fields.get("shared_prefix_tokens", 0) < fields["prompt_tokens"]:
        return fields
    return {name: value for name, value in fields.items() if name != "shared_prefix_tokens"}


def users_of_a_gpu() -> Iterator[Case]:
    """Every GPU under users who come back."""
    cases = [("size", {"gpu": s, "concurrency": u}) for s, u in product(SLUGS, USERS)]
    lengths = [(100, 1000), (8000, 500), (1000, 100)]
    yield from _with_turns(
        cases,
        model=(*TEXT, *OTHERS[:1]),
        prompt_tokens=["", *(prompt for prompt, _ in lengths)],
        answer_tokens=["", *(answer for _, answer in lengths)],
    )


def users_of_everything() -> Iterator[Case]:
    """The ranking for so many users, and for one."""
    for model, users in product((*TEXT, *OTHERS), (1, *USERS)):
        yield "size", {"model": model, "concurrency": users, "top": 0}


def every_model() -> Iterator[Case]:
    """Every embedded model on a card of each kind, alone and under loads."""
    cases = [("size", {"model": model, "gpu": gpu}) for model, gpu in product(KNOWN, CARDS)]
    rates = ("", 1, "", 0.1, 50)
    yield from _with_turns(
        cases, requests_per_second=rates, context=("", 1, 4096, 131_072, 1_000_000, "", 512)
    )


def engines_and_quantizations() -> Iterator[Case]:
    """Every quantization under each of its engines; cards, models and loads take turns."""
    cases = [
        ("size", {"engine": engine, "quant": quant.slug, "gpu": card})
        for quant in all_quants()
        for engine in quant.engines
        for card in CARDS
    ]
    yield from _with_turns(
        cases,
        model=(*TEXT, *OTHERS[:3]),
        kv_dtype=("", "", "fp8", "", "q8_0/f16"),
        requests_per_second=("", "", 5),
        concurrency=("", "", "", 16, ""),
    )


def odd_servers() -> Iterator[Case]:
    """Schedulers that take very little or very much at once, under loads of very unlike lengths;
    drafts and what else a server goes by take turns."""
    sizes, lengths = ("", 1, 64), ((30_000, 10), (1, 30_000), (16, 1))
    cases = [
        ("size", {"engine": engine, **_load(rate, length, None), **dict(stated)})
        for engine, rate, length in product(ENGINES, (0.001, 1, 1e6), lengths)
        for stated in _stated(max_num_batched_tokens=sizes, max_num_seqs=("", 1, 100_000))
    ]
    yield from _with_turns(
        cases,
        model=("Qwen/Qwen3-8B", "tiiuae/falcon-mamba-7b", "Qwen/Qwen3-30B-A3B", TEXT[-1]),
        gpu=(*CARDS, ""),
        top=(1,),
        ubatch_size=("", 1),
        draft_model=("", "", "Qwen/Qwen3-0.6B"),
        acceptance_rate=("", 0, 1, 0.7, ""),
        ttft_ms=("", "", "", 1, 1e7),
        peak_to_mean=("", "", 100),
    )


def _stated(**fields: Sequence[Any]) -> Iterator[list[tuple[str, Any]]]:
    """Every combination of these values, without those that are not stated."""
    for values in product(*fields.values()):
        yield [pair for pair in zip(fields, values, strict=True) if pair[1] != ""]


def training() -> Iterator[Case]:
    """Methods, shardings and frameworks; GPUs and what else a plan holds take turns."""
    cases = [
        ("train", {"method": method, "sharding": sharding, "framework": framework})
        for method, sharding, framework in product(METHODS, SHARDINGS, stacks())
    ]
    yield from _with_turns(
        cases,
        model=(*TEXT, *OTHERS[:3]),
        gpu=("", *CARDS),
        gpu_count=("", 1, 2, 4, 8, 64, ""),
        optimizer=("", *OPTIMIZERS),
        offload=("", *OFFLOADS),
        sequence_length=(1, 512, "", 131_072, ""),
        micro_batch=("", 1, 64),
    )


def models_for() -> Iterator[Case]:
    """What runs on every GPU of the catalogue, and on odd machines."""
    cases = [("models-for", {"gpu": slug, "top": 0}) for slug in (*SLUGS, *RIGS, *CUSTOM)]
    yield from _with_turns(
        cases,
        context=("", 1, 131_072),
        concurrency=("", 1, 64, ""),
        from_disk=("", True, "", "", ""),
    )


def rigs() -> Iterator[Case]:
    """Machines of unlike cards and of none."""
    loads: tuple[Mapping[str, Any], ...] = (
        *({}, {"concurrency": 8}, {"requests_per_second": 1}, {"min_tok_s": 100}),
        *({"context": 1}, {"context": 131_072, "kv_dtype": "q8_0"}, {"disk_gb_per_s": 0.01}),
    )
    for model, rig, load in product((*TEXT, *OTHERS), RIGS, loads):
        yield "size", {"model": model, "rig": rig, "top": 1, **load}


def odd_cards() -> Iterator[Case]:
    """Cards that owners describe, and more or fewer of others than are sold."""
    for model, gpu, load in product((*TEXT, *OTHERS), CUSTOM, ({}, *LOADS[::7])):
        yield "size", {"model": model, "gpu": gpu, **load}


def comparisons() -> Iterator[Case]:
    """Neighbours of the catalogue side by side."""
    cases = [
        ("compare", {"gpus": [first, second, card]})
        for first, second, card in zip(SLUGS, SLUGS[1:], cycle((*CARDS, *CUSTOM)), strict=False)
    ]
    yield from _with_turns(
        cases, model=(*TEXT, "", *OTHERS), concurrency=("", 64, ""), answer_tokens=("", "", "", 100)
    )


CPU = "cpu only + 64gb ram"
FOUND: Sequence[Case] = (
    (
        "size",
        dict(model="Qwen/Qwen3-8B", gpu="rtx-4090-d-48gb-mod", **_load(10, (1000, 100), None)),
    ),
    (
        "size",
        dict(
            *({"model": "Qwen/Qwen3-8B", "gpu": "h100-sxm-80gb", "engine": "vllm"},),
            **_load(0.01, (30_000, 10), None),
            max_num_batched_tokens=1,
        ),
    ),
    ("size", {"model": "Qwen/Qwen3-8B", "rig": CPU, "concurrency": 8}),
    ("size", {"model": "openai/whisper-large-v3", "rig": CPU}),
    ("train", {"model": "microsoft/phi-1_5", "gpu": "v100-sxm2-16gb, custom:24.5GB@Metal"}),
    ("train", {"model": "adept/fuyu-8b", "framework": "unsloth", "rollout_share": 0.05, "top": 1}),
)
"""Questions that had another end once."""


PARTS: Mapping[str, tuple[Callable[[], Iterator[Case]], int]] = {
    "found": (lambda: iter(FOUND), len(FOUND)),
    "plans_of_everything": (plans_of_everything, 2),
    "plans_of_a_gpu": (plans_of_a_gpu, 40),
    "users_of_a_gpu": (users_of_a_gpu, 20),
    "users_of_everything": (users_of_everything, 1),
    "every_model": (every_model, 30),
    "engines_and_quantizations": (engines_and_quantizations, 40),
    "odd_servers": (odd_servers, 20),
    "training": (training, 30),
    "models_for": (models_for, 1),
    "rigs": (rigs, 6),
    "odd_cards": (odd_cards, 20),
    "comparisons": (comparisons, 10),
}
"""Each with how many of its cases are asked by day."""
