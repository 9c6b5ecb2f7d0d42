"""Asks `/v1` random questions, in this process, and prints the failures.

    python -m bench.random_questions [--count 50000] [--seed 1]

Every field of every question is drawn by the request's own schema: values within its bounds, the
bounds, values just beyond them, names that people use, and nonsense. An answer is wrong if its
status is 500, its JSON has NaN or infinity, or its form differs from the contract. One of each kind
is printed with its query; the exit status is 1 if there is one. The embedded models are used,
without a network.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlencode

from pydantic import ValidationError
from starlette.testclient import TestClient

from bench.embedded_answers import offline_answers
from gpusizer.fit.filters import IN_PRODUCTION, STATUSES
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.kv_cache import ALIASES, BYTES_PER_ELEMENT
from gpusizer.memory.quants.table import all_quants
from gpusizer.model.tasks import TASKS
from gpusizer.text import LANGUAGES
from gpusizer.training.optimizers import OPTIMIZERS
from gpusizer.training.stacks import stacks
from gpusizer.ui.server.endpoints import PUBLIC
from gpusizer.ui.server.http_api import http_api
from gpusizer.ui.server.metrics import Metrics
from gpusizer.usecases.models_for.models_request import LICENSES
from gpusizer.usecases.near_models import known_models
from gpusizer.usecases.requests.request_docs import FieldDescription, described_fields
from gpusizer.usecases.use_cases import USE_CASES
from tests.answers.forms import check_answer, check_error

# questions with their frequency; one about all models takes longest
COMMANDS = {"size": 6, "compare": 2, "train": 3, "models-for": 1, "gpus": 1}
NONSENSE = (
    *("", " ", "0", "-1", "-0", "1e309", "-1e309", "nan", "inf", "1e-320", "1e15", "0x10", "1_0"),
    *("٣", "９", "½", "1,5", "1.", "true", "null", "None", "[]", "{}", ",", ",,,", "+", "x", "2x"),
    *("\0", "\x1b[2J", "\u202e", "名前", "a/b", "../..", "<b>", "%s", "{model}", "' OR 1=1"),
    *("9" * 40, "z" * 301, "gpu " * 70),
)
ROUND = (0.1, 0.5, 1, 2, 3, 4, 5, 8, 10, 16, 24, 50, 64, 100, 128, 512, 1000, 2048, 8192, 131_072)
_LOGGER = logging.getLogger("gpusizer")


class Wrong(Exception):
    """A wrong answer; the text names its kind."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the form of an address."""

    command: str
    fields: tuple[tuple[str, str], ...]

    @property
    def path(self) -> str:
        """Address below `/v1`."""
        return f"/{self.command}?{urlencode(self.fields)}"


def questions(seed: int) -> Iterator[Question]:
    """Yield random questions without end, equal for equal seeds."""
    dice = random.Random(seed)
    while True:
        (command,) = dice.choices([*COMMANDS], COMMANDS.values())
        fields = described_fields(USE_CASES[command].request)
        named = [name for name in _MAIN if name in fields and dice.random() < _MAIN[name]]
        others = [name for name in fields if name not in _MAIN]
        named += dice.sample(others, min(len(others), int(dice.expovariate(0.25))))
        pairs = [(name, _value(fields[name], dice)) for name in named]
        if dice.random() < 0.05:
            pairs.append(("lang", dice.choice((*LANGUAGES, dice.choice(NONSENSE)))))
        if dice.random() < 0.02:
            pairs.append((dice.choice(NONSENSE), dice.choice(NONSENSE)))
        yield Question(command, tuple(pairs))


# frequency of these fields in questions; others are drawn evenly
_MAIN: Mapping[str, float] = {
    **dict.fromkeys(("model", "gpus"), 0.97),
    "gpu": 0.85,
    "rig": 0.06,
    **dict.fromkeys(("context", "concurrency", "quant", "engine", "models"), 0.3),
    **dict.fromkeys(("requests_per_second", "prompt_tokens", "answer_tokens"), 0.25),
    **dict.fromkeys(("gpu_count", "ttft_ms"), 0.15),
}


def _value(field: FieldDescription, dice: random.Random) -> str:
    # As an address writes it.
    if dice.random() < 0.015:
        return dice.choice(NONSENSE)
    if field.choices:
        return dice.choice(field.choices)
    if field.kind is bool:
        return dice.choice(("true", "false", "on", "No"))
    if field.kind in (int, float):
        return _number(field, dice)
    words = _words()[field.name]
    if field.kind is tuple and dice.random() < 0.15:
        return ",".join(words(dice) for _ in range(dice.randint(2, 4)))
    return words(dice)


def _number(field: FieldDescription, dice: random.Random) -> str:
    # A bound, one just beyond it, a round number, or one of any magnitude.
    low, high = field.low, field.high
    assert low is not None and high is not None
    step = 1 if field.kind is int else 1e-6 * max(1.0, high)
    kind = dice.random()
    if kind < 0.12:
        value = dice.choice((low, high))
    elif kind < 0.15:
        value = dice.choice((low - step, high + step))
    elif kind < 0.6:
        value = min(high, max(low, dice.choice(ROUND)))
    else:
        least = max(low, 1e-3 if field.kind is float else 1)
        value = min(high, least * (high / least) ** dice.random())
    return f"{round(value):d}" if field.kind is int else f"{value:.6g}"


Draw = Callable[[random.Random], str]

# further parts of a card's description, one of each
_CARD = (
    *(("@100GB/s", "@1GB/s", "@50000GB/s"), ("@200TFLOPS", "@0.1TFLOPS"), ("@350W", "@1W")),
    *(("@5000USD",), ("@CUDA", "@ROCm", "@Metal"), ("@fp8",)),
)


@cache
def _words() -> Mapping[str, Draw]:
    # Texts that people write in fields, by their names.
    models = sorted(model.repo_id for model in known_models())
    slugs = [gpu.slug for gpu in load_catalogue().gpus]
    quants = ["all", "native", *(quant.slug for quant in all_quants())]

    def of(*words: str) -> Draw:
        return lambda dice: dice.choice(words)

    def card(dice: random.Random) -> str:
        slug = dice.choice(slugs)
        used = f"{dice.choice((0.5, 1, 3, 7.5, 20))} GB {dice.choice(('used', 'free'))}"
        memory = f"custom:{dice.choice((1, 8, 24.5, 96, 288, 10_000))}GB"
        described = "".join(dice.choice(each) for each in _CARD if dice.random() < 0.5)
        counted = f"{dice.choice((1, 2, 3, 4, 7, 8, 16, 32, 1024))}x {slug}"
        return dice.choice((slug, slug, counted, f"{slug} ({used})", memory + described))

    def rig(dice: random.Random) -> str:
        cards = [f"{dice.choice(('', '2x ', '4x '))}{dice.choice(slugs)}" for _ in range(3)]
        memory = f"{dice.choice((1, 4, 8, 64, 512, 4096))}gb ram"
        return " + ".join((*cards[: dice.randint(0, 3)], memory))

    gpu: Draw = lambda dice: (rig if dice.random() < 0.1 else card)(dice)  # noqa: E731
    types = (*BYTES_PER_ELEMENT, *ALIASES)
    return {
        **dict.fromkeys(("model", "models", "draft_model"), of(*models)),
        **dict.fromkeys(("gpu", "gpus"), gpu),
        "rig": rig,
        "revision": of("main", "0" * 40, "refs/pr/1"),
        "file": of("model.gguf", "*Q4_K_M*", "model.safetensors"),
        "quant": of(*quants),
        "kv_dtype": of(*types, *(f"{key}/{value}" for key in types[:4] for value in types[:4])),
        "engine": of(*ENGINES),
        "engine_version": of("0.6.0", "0.9.2", "0.11.0", "b6000", "1", "99.99.99", "0.11.0rc1"),
        "gguf_date": of("2023-08", "2024-02-29", "2026-12"),
        "vendor": of("NVIDIA", "amd", "Apple", "Intel", "Huawei"),
        "segment": of("consumer", "datacenter", "workstation", "apple", "soc"),
        "software": of("CUDA", "rocm", "Metal", "CANN", "oneAPI"),
        "status": of(*STATUSES, IN_PRODUCTION),
        "optimizer": of(*OPTIMIZERS),
        "framework": of(*stacks()),
        "framework_version": of("0.1.0", "2.5", "4.46.0", "99"),
        "lengths": of("2048", "512-4096", "packed", "4096-512"),
        "lora_targets": of("all-linear", "q_proj", "v_proj", "gate_proj", "lm_head", "experts"),
        "model_task": of(*TASKS),
        "license": of(*LICENSES),
        "query": of(*slugs, "4090", "apple", "80GB", "radeon 7900"),
    }


class Asked:
    """Interface to `/v1` in this process, offline, over the embedded models."""

    def __init__(self) -> None:
        self._client = TestClient(http_api(offline_answers(), PUBLIC, Metrics()))
        self._logged = _Logged()
        _LOGGER.addHandler(self._logged)

    def close(self) -> None:
        """Remove the handler from the log."""
        _LOGGER.removeHandler(self._logged)

    def status_of(self, question: Question) -> int:
        """Return the status of an answer. Raises Wrong."""
        del self._logged.failures[:]
        try:
            answer = self._client.get(question.path)
        except Exception as error:
            raise Wrong(_place_of(error)) from error
        for failure in self._logged.failures:
            raise Wrong(_place_of(failure)) from failure
        check(question.command, answer.status_code, answer.content)
        return answer.status_code


class _Logged(logging.Handler):
    """Keeps the exceptions that are logged."""

    def __init__(self) -> None:
        super().__init__()
        self.failures: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            self.failures.append(record.exc_info[1])


def check(command: str, status: int, body: bytes) -> None:
    """Raise Wrong for a failure of ours, and for a body that breaks the contract."""
    if status == 500:
        raise Wrong("status 500")
    try:
        check_answer(command, body) if status == 200 else check_error(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join("N" if isinstance(part, int) else part for part in first["loc"])
        raise Wrong(f"{command} {status}: {where}: {first['msg']}") from None
    except ValueError as error:
        raise Wrong(f"{command} {status}: {error}") from None


def _place_of(error: BaseException) -> str:
    # Equal for all exceptions raised at one place.
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}"
    return f"{type(error).__name__} at {place}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask `count` questions; return 1 if an answer is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    _LOGGER.propagate = False  # what fails is printed once
    asked, drawn = Asked(), questions(options.seed)
    statuses: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    slowest: list[tuple[float, str]] = []
    for number in range(1, options.count + 1):
        question, began = next(drawn), time.process_time()
        try:
            statuses[asked.status_of(question)] += 1
        except Wrong as wrong:
            if not kinds[str(wrong)]:
                print(f"{wrong}: {question.path}", flush=True)
            kinds[str(wrong)] += 1
        took = time.process_time() - began
        slowest = sorted([*slowest, (took, question.path)], reverse=True)[:5]
        if number % 1000 == 0:
            print(f"{number}: {dict(statuses)}, wrong {kinds.total()}", file=sys.stderr, flush=True)
    print(f"{options.count} questions, seed {options.seed}: {dict(statuses)}, wrong: {dict(kinds)}")
    for took, path in slowest:
        print(f"{took:.2f} s: {path[:300]}")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
