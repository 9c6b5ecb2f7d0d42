"""Benchmarks: the command that measures a card's speeds, expected output, and causes of less.

Sources of the options and of the printed words: tools/llama-bench/llama-bench.cpp of
ggml-org/llama.cpp (`-hf`, `-fa`, `-d`; a test is printed as `pp512` or `tg128 @ d512`);
vllm/benchmarks/serve.py of vLLM 0.11 and later (`vllm bench serve`); sglang/bench_serving.py of
SGLang 0.4 and later; mlx_lm/benchmark.py of mlx-lm 0.28. The other engines have no such program
that takes the lengths of prompt and answer, and get no command.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpusizer.advice.ranking import Ranked
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.gpus import Gpu
from gpusizer.launch import LaunchPlan, launch_command
from gpusizer.launch.base import Options, above_one, command
from gpusizer.launch.gguf_files import gguf_files
from gpusizer.launch.llama_cpp import source_of
from gpusizer.launch.mlx import model_of
from gpusizer.memory.kv_cache import llama_cpp_types
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.speed import Rate, Speeds

GENERATED = 128  # tokens that llama-bench generates, its own default

_ROUNDS = 4  # prompts for each user, so that the first and the last weigh little
_TOKENS = "tok/s"
_MILLISECONDS = "ms"
_POWER_COMMANDS = {"NVIDIA": "nvidia-smi -q -d POWER", "AMD": "amd-smi static --limit"}
_LINK_COMMAND = "nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current --format=csv"


@dataclass(frozen=True, slots=True)
class Expectation:
    """A number that the command prints, and its expected band."""

    printed: str  # the words beside it in the program's output
    rate: Rate  # tokens per second, or milliseconds, by `unit`
    unit: str
    run: int = 1  # number of the command that prints it, from 1


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Commands ready to paste, with their expected output."""

    engine: str
    commands: tuple[str, ...]  # one for each run, in order, with an option on each line
    expected: tuple[Expectation, ...]  # the numbers it prints, from the estimate
    when_less: tuple[Note, ...]  # settings to look at when it prints less, as codes
    notes: tuple[Note, ...] = ()  # changes that the reader has to make in it, as codes

    @property
    def text(self) -> str:
        """All commands, one after the other."""
        return "\n".join(self.commands)


# The commands, their expected output (None for unknown rates), and notes.
_Parts = tuple[tuple[str, ...], list[Expectation | None], tuple[Note, ...]]


def benchmark(profile: ModelProfile, ranked: Ranked, workload: Workload) -> Benchmark | None:
    """Return the command for a place in a ranking, as it would run there.

    None without a claimed speed, for layers in system memory, for plans that no command starts, and
    for engines without such a program. Raise InvalidRequest for a name or revision that the Hub
    cannot have.
    """
    fit, speeds = ranked.fit, ranked.speeds
    measure = _PROGRAMS.get(fit.estimate.engine.slug)
    # Speeds do not model layers in system memory.
    is_whole = workload.gpu_layers is None and not workload.cpu_moe
    if measure is None or speeds is None or not is_whole:
        return None
    if not launch_command(profile, fit.config, workload).text:
        return None  # nothing starts the plan, and so nothing can be measured of it
    plan = LaunchPlan.from_config(profile, fit.config, workload)
    commands, expected, notes = measure(plan, speeds)
    known = tuple(expectation for expectation in expected if expectation is not None)
    if not known:
        return None
    return Benchmark(
        plan.engine, commands, known, slowdown_notes(plan.engine, fit.gpu, fit.count), notes
    )


def benchmark_of(profile: ModelProfile, item: Ranked, workload: Workload) -> Benchmark | None:
    """Return the command that measures a place; None also for names that the Hub cannot have."""
    try:
        return benchmark(profile, item, workload)
    except InvalidRequest:
        return None


def _llama_bench(plan: LaunchPlan, speeds: Speeds) -> _Parts:
    # Two runs: a prompt from an empty cache, and an answer behind a full one.
    files = gguf_files(plan)
    load = plan.workload
    keys, values = llama_cpp_types(load.kv_dtype) or ("f16", "f16")
    depth = max(0, load.context - GENERATED)
    narrow = (keys, values) != ("f16", "f16")
    shared: Options = {
        "-ngl": "99",
        "-fa": str(int(load.flash_attention)),
        "-ctk": (keys, "-ctv", values) if narrow else "",
        "-sm": "layer" if plan.split.gpus > 1 else "",
    }
    program = ("llama-bench", *source_of(plan, files))
    prompt = command(program, {"-p": (str(speeds.prompt), "-n", "0"), **shared})
    answer = command(program, {"-p": ("0", "-n", str(GENERATED), "-d", str(depth)), **shared})
    behind = f" @ d{depth}" if depth else ""
    expected = [
        _rate(f"pp{speeds.prompt}", speeds.prefill),
        _rate(f"tg{GENERATED}{behind}", speeds.decode, run=2),
    ]
    first = "\n".join((*files.made_by, prompt))
    return (first, answer), expected, files.notes


def _vllm_bench(plan: LaunchPlan, speeds: Speeds) -> _Parts:
    program = ("vllm", "bench", "serve", "--model", plan.repo_id, "--dataset-name", "random")
    return _serving(program, {"--ignore-eos": True}, speeds)


def _sglang_bench(plan: LaunchPlan, speeds: Speeds) -> _Parts:
    module = ("python", "-m", "sglang.bench_serving", "--backend", "sglang")
    program = (*module, "--model", plan.repo_id, "--dataset-name", "random-ids")
    return _serving(program, {"--random-range-ratio": "1"}, speeds)


def _serving(program: tuple[str, ...], lengths: Options, speeds: Speeds) -> _Parts:
    # One run with the users of the request, one with as many as the caches hold at once. The server
    # runs by then, started by the card's other command.
    def run(users: int) -> str:
        options: Options = {
            "--random-input-len": (str(speeds.prompt), "--random-output-len", str(speeds.answer)),
            **lengths,
            "--max-concurrency": (str(users), "--num-prompts", str(_ROUNDS * users)),
        }
        return command(program, options)

    each_user = speeds.decode if speeds.users == 1 else speeds.per_user
    expected = [_milliseconds("Mean TPOT (ms)", each_user)]
    lines = [run(speeds.users)]
    if speeds.serving is not None:
        lines.append(run(speeds.serving_users))
        expected.append(_rate("Output token throughput (tok/s)", speeds.serving, run=2))
    return tuple(lines), expected, ()


def _mlx_benchmark(plan: LaunchPlan, speeds: Speeds) -> _Parts:
    options: Options = {
        "--prompt-tokens": (str(speeds.prompt), "--generation-tokens", str(speeds.answer)),
        "--batch-size": above_one(speeds.users),
    }
    text = command(("mlx_lm.benchmark", "--model", model_of(plan)), options)
    together = speeds.decode if speeds.users == 1 else speeds.total
    # The rate of prompts is that of one prompt: of a batch the program prints another.
    prompt = speeds.prefill if speeds.users == 1 else None
    return (text,), [_rate("prompt_tps", prompt), _rate("generation_tps", together)], ()


# By the slug of the engine.
_PROGRAMS: Mapping[str, Callable[[LaunchPlan, Speeds], _Parts]] = {
    "llama.cpp": _llama_bench,
    "vllm": _vllm_bench,
    "sglang": _sglang_bench,
    "mlx": _mlx_benchmark,
}


def slowdown_notes(engine: str, gpu: Gpu, boards: int) -> tuple[Note, ...]:
    """Return the most frequent causes of a slow card, the likeliest first."""
    return (*_power(gpu), *_link(gpu, boards), *_engine_notes(engine))


def _power(gpu: Gpu) -> list[Note]:
    if gpu.vendor == "Apple":
        return [Note("look_low_power_mode")]
    program = _POWER_COMMANDS.get(gpu.vendor)
    if program is None or gpu.power_watts is None:
        return []
    return [Note("look_power_limit", command=program, watts=round(gpu.power_watts))]


def _link(gpu: Gpu, boards: int) -> list[Note]:
    if not gpu.pcie_lanes or gpu.vendor != "NVIDIA":
        return []
    # Several boards without a fabric depend on the width of the slot.
    code = "look_slot_width" if boards == 1 or gpu.fabric_joins(boards) else "look_slots_of_all"
    return [Note(code, command=_LINK_COMMAND, lanes=gpu.pcie_lanes)]


def _engine_notes(engine: str) -> list[Note]:
    if engine == "llama.cpp":
        return [Note("look_layers_on_gpu"), Note("look_flash_attention")]
    if engine in ("vllm", "sglang"):
        return [Note("look_attention_backend", engine=engine)]
    return []


def _rate(printed: str, rate: Rate | None, run: int = 1) -> Expectation | None:
    return None if rate is None else Expectation(printed, rate, _TOKENS, run)


def _milliseconds(printed: str, rate: Rate | None) -> Expectation | None:
    if rate is None:
        return None
    # The ends of the speed's band change places.
    low, likely, high = (1000 / value for value in (rate.high, rate.likely, rate.low))
    times = Rate(*(float(f"{value:.3g}") for value in (low, likely, high)))
    return Expectation(printed, times, _MILLISECONDS)
