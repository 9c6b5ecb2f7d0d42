"""Runs hf-mem on the measured models and stores its answers in a file.

    python -m bench.hf_mem --python ENV/bin/python [--new]

ENV is an environment with `pip install hf-mem==0.5.6`. Every measured model is served from an
emulated Hub (its tensors' names, types and shapes, its configuration) and hf-mem's command line
is run once per model and setting that a measurement needs. The answers, and the errors where it
ended with one, go into `data/generated/hf_mem.csv`; `bench.accuracy` reads that file and
needs no hf-mem. `--new` asks only what the file lacks.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from bench.evaluation import published_accuracy
from bench.measurements import load_snapshot
from bench.rivals import Answer, Question, load_answers, questions, write_answers
from bench.scraping import HF_MEM
from gpusizer.hub.snapshot import RepoSnapshot
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    literal_file,
    sharded_repo,
    single_file_repo,
    sparse_file,
)

_SECONDS = 120
_LONGEST_ERROR = 240
_VERSION = "from importlib.metadata import version; print(version('hf-mem'))"
_NO_HUB = ("httpx2.", "OSError", "ConnectionError")


def main() -> None:
    """Run hf-mem, and write the file."""
    parser = argparse.ArgumentParser(prog="python -m bench.hf_mem")
    parser.add_argument("--python", type=Path, required=True, help="interpreter that has hf-mem")
    parser.add_argument("--new", action="store_true", help="only what the file lacks")
    arguments = parser.parse_args()
    questions_needed = needed()
    stored = (
        {q: a for q, a in load_answers().items() if q in questions_needed} if arguments.new else {}
    )
    answers = dict(ask(arguments.python, (q for q in questions_needed if q not in stored)))
    write_answers(stored | answers)
    refused = sum(bool(answer.error) for answer in answers.values())
    print(f"{len(answers)} asked, {refused} refused, {len(stored)} kept")


def needed() -> list[Question]:
    """Return the runs of hf-mem that the published measurements need."""
    return questions(published_accuracy().comparisons["rival"])


def ask(python: Path, questions_needed: Iterable[Question]) -> Iterator[tuple[Question, Answer]]:
    """Serve one model after another from an emulated Hub, and run hf-mem on it."""
    version = _run([str(python), "-c", _VERSION]).stdout.strip()
    for model, group in groupby(sorted(questions_needed), lambda question: question.model):
        with HubEmulator([served(load_snapshot(model))]) as hub:
            for question in group:
                command = [str(python), "-c", HF_MEM, hub.endpoint, *question.options]
                yield question, answer_of(question, _run(command), version)


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    variables = {"PATH": "/usr/bin:/bin", "NO_PROXY": "*"}
    return subprocess.run(
        command, env=variables, capture_output=True, text=True, timeout=_SECONDS, check=False
    )


def answer_of(question: Question, done: subprocess.CompletedProcess[str], version: str) -> Answer:
    """Parse the output of one run: a JSON object, or an exception at the end of its errors.

    Raises RuntimeError where the emulated Hub, not hf-mem, had no answer.
    """
    if done.returncode:
        error = last_exception(done.stderr)
        if error.startswith(_NO_HUB):
            raise RuntimeError(f"{question.model}: {error}")
        return Answer(None, None, short(error), version)
    printed = json.loads(done.stdout)
    weights, kv = printed["memory"], printed["kv_cache"]
    if question.context and kv is None:
        return Answer(weights, None, short(last_warning(done.stderr)), version)
    return Answer(weights, kv, "", version)


def last_exception(errors: str) -> str:
    """Return the exception that ended a run, with all lines of its message."""
    starts = list(re.finditer(r"^[\w.]*(Error|Exception|Timeout)\b", errors, re.MULTILINE))
    return errors[starts[-1].start() :] if starts else errors


def last_warning(errors: str) -> str:
    """Return the last warning, which says why hf-mem prints "null" for the cache."""
    warnings = re.findall(r"(UserWarning: .*)", errors)
    return warnings[-1] if warnings else "no cache"


def short(message: str) -> str:
    """Shorten an error to one line, without the configuration that it quotes."""
    line = re.sub(r"\{.*\}", "{…}", " ".join(message.split()))
    return line if len(line) <= _LONGEST_ERROR else line[: _LONGEST_ERROR - 1] + "…"


def served(snapshot: RepoSnapshot) -> FakeRepo:
    """Build the emulated repository, with the tensors spread over its number of files in order."""
    (component,) = snapshot.components
    repo_id, config = snapshot.repo_id, component.config
    if snapshot.format == "pickle":
        files = {file.path: sparse_file(file.size_bytes or 0) for file in component.files}
        return FakeRepo(repo_id, {"config.json": literal_file(config or {}), **files})
    tensors = {
        name: (group.dtype, group.shape) for group in component.tensors for name in group.names()
    }
    if len(component.files) == 1:
        return single_file_repo(repo_id, tensors, config)
    return sharded_repo(repo_id, tensors, len(component.files), config)


if __name__ == "__main__":
    main()
