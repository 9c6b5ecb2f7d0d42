"""Documents run: every command and every piece of code does, as it is written there.

Commands of gpusizer run in this process, in a folder with the files that they name, against a Hub
that cannot be reached, or against the emulated one if they name a reader's own model.
tests/browser/test_embedding.py opens the HTML.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

import pytest
import requests

from tests import engine_logs
from tests.cli.test_cli import ENVIRONMENT, run
from tests.engines_here import write_llama_bench
from tests.hub_emulator import HubEmulator, llama_repo
from tests.ports import wait_for
from tests.scrapers.local_repos import GGUF, on_disk, write
from tests.snippets import COMMAND, DOCUMENTS, QUESTION, ROOT, Snippet, snippets

# commands that no test runs, with the reason
NOT_RUN: Mapping[str, str] = {
    "./scripts/app": "fetches packages; `python app.py`, which it then starts, is run",
    "./scripts/gpusizer size Qwen/Qwen3-8B": "fetches packages; `python -m gpusizer` is run",
    "./scripts/test": "fetches packages, and runs these tests",
    "mkdir /tmp/space && git archive HEAD | tar -x -C /tmp/space": "writes outside of the checkout",
    'hf upload OWNER/gpusizer /tmp/space . --repo-type=space --delete="*"': "writes to the Hub",
    "apt install chromium redis-server nginx": "installs packages of the system",
    "pip install -r requirements-redis.txt": "fetches packages",
    "pip install .": "fetches packages; tests/test_installation.py installs the wheel",
    "pip install '.[web]'": "fetches packages; tests/test_installation.py serves from the wheel",
    "uvx --from . gpusizer": "fetches packages",
    "docker compose -f deploy/compose.yaml up --build": "needs Docker, and fetches images",
    "docker build -f deploy/Dockerfile -t gpusizer .": "needs Docker, and fetches images",
    "docker run --read-only --tmpfs /tmp --cap-drop ALL -p 7860:7860 gpusizer": "needs Docker",
    "hf auth login": "asks the Hub for a person's token",
    "python -m scripts.refresh": "asks the Hub and price lists, and writes tables",
    "python -m bench.accuracy --write-docs": "writes docs; tests/test_accuracy.py asks the same",
    "python -m bench.recommendations --write-docs": "writes docs; its own tests ask some rows",
    "python -m bench.quality": "takes longer than all others together",
    "python -m bench.load": "loads a server for minutes",
}

SERVERS = ("gpusizer serve", "python app.py")  # commands that end when a user ends them

# words that a reader replaces, in the order of replacement, and the tests' words for them
STAND_INS: Mapping[str, str] = {
    "[options]": "",
    "GPU [GPU ...]": "4090 2x3090",
    "[QUERY ...]": "rtx 4090",
    "batch [FILE]": "batch requests.jsonl",
    "log FILE": "log vllm.log",
    "--weights FILE.gguf": "--weights model.gguf",
    "--rows FILE": "--rows tests/scrapers/card_statements.jsonl",
    "COMMAND": "size",
    "ORG/NAME": "emulated/llama",
    "MODEL": "Qwen/Qwen3-8B",
    "GPU": "4090",
}
LOCAL_ADDRESS = "http://127.0.0.1:7860"
PUBLIC_ADDRESS = "https://ADDRESS"
TIMEOUT_SECONDS = 120
SESSION = "sh-session"  # a command of ours behind "$ ", and the first lines that it prints

SNIPPETS = [snippet for document in DOCUMENTS for snippet in snippets(document)]


def texts(kind: str) -> list[str]:
    """Return the different snippets of a kind that can be run."""
    found = dict.fromkeys(snippet.text for snippet in SNIPPETS if snippet.kind == kind)
    return [text for text in found if text not in NOT_RUN]


def filled_in(text: str) -> str:
    """Replace the words of a command that a reader replaces."""
    for word, stand_in in STAND_INS.items():
        text = text.replace(word, stand_in)
    return text


def is_alone(text: str) -> bool:
    """Whether a line is one command, without pipes, files for its output and the like."""
    return not any(re.fullmatch(r"[|&;<>]+", word) for word in shlex.shlex(text, None, True, True))


LINES = [text for text in texts(COMMAND) if is_alone(text) and text not in SERVERS]
COMMANDS = [text for text in LINES if text.startswith(("gpusizer ", "python -m gpusizer "))]
BENCHES = [text for text in LINES if text.startswith("python -m bench.") and "--write" not in text]


def is_known(snippet: Snippet) -> bool:
    """Whether a test runs a snippet, or says why none does."""
    if snippet.kind != COMMAND:
        return snippet.kind in (QUESTION, "python", "pycon", "markdown", "html", SESSION)
    return snippet.text in {*COMMANDS, *BENCHES, *SERVERS, *NOT_RUN}


def test_every_snippet_is_run() -> None:
    unknown = [f"{snippet.place}: {snippet.text}" for snippet in SNIPPETS if not is_known(snippet)]
    assert unknown == []


def test_what_is_left_out_or_replaced_is_in_a_document() -> None:
    written = {snippet.text for snippet in SNIPPETS}
    assert {*NOT_RUN, *SERVERS} <= written
    text = "\n".join(written)
    for word in (*STAND_INS, LOCAL_ADDRESS, PUBLIC_ADDRESS):
        assert word in text, word
    assert len(COMMANDS) > 30 and BENCHES


@pytest.mark.parametrize("document", ["README.zh.md", "README.pt.md"])
def test_a_readme_in_another_language_has_the_same_commands(document: str) -> None:
    ours, theirs = (
        [(snippet.kind, snippet.text) for snippet in SNIPPETS if snippet.document == name]
        for name in ("README.md", document)
    )
    assert theirs == ours


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files and the program that commands name."""
    made = tmp_path_factory.mktemp("reader")
    on_disk(llama_repo(), made / "my-finetune")
    write(made / "model.gguf", GGUF)
    for name in ("vllm.log", "start-up.log"):
        (made / name).write_text(engine_logs.VLLM_V1, encoding="utf-8")
    (made / "requests.jsonl").write_text('{"model": "Qwen/Qwen3-8B", "top": 1}\n', "utf-8")
    write_llama_bench(made)
    locked = run("lock", "Qwen/Qwen3-8B", "--gpu", "4090", "--output", str(made / "gpusizer.lock"))
    assert locked.returncode == 0
    return made


@pytest.fixture(scope="module")
def hub() -> Iterator[HubEmulator]:
    """Yield a Hub with the model that replaces a reader's own."""
    with HubEmulator([llama_repo(STAND_INS["ORG/NAME"])]) as running:
        yield running


Shell = Callable[[str], "subprocess.CompletedProcess[str]"]


@pytest.fixture
def shell(folder: Path, hub: HubEmulator, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Return a function that runs one of our commands in the folder."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    emulated = {"HF_ENDPOINT": hub.endpoint, "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint}

    def run_line(text: str) -> subprocess.CompletedProcess[str]:
        words = shlex.split(filled_in(text).removeprefix("python -m "))
        # The address of `run`, where no server is; this time allows no second try.
        unreachable = {"GPUSIZER_TIMEOUT_SECONDS": "0.1"}
        return run(*words[1:], **(emulated if "ORG/NAME" in text else unreachable))

    return run_line


@pytest.mark.parametrize("text", COMMANDS)
def test_a_command_answers(text: str, shell: Shell) -> None:
    done = shell(text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and "Traceback" not in done.stderr
    words = shlex.split(text)
    if "--json" in words or "batch" in words:
        documents = done.stdout.splitlines() if "batch" in words else [done.stdout]
        assert not any("error" in json.loads(document) for document in documents)


@pytest.mark.parametrize("text", texts(SESSION))
def test_a_session_prints_what_is_written(text: str, shell: Shell) -> None:
    command, printed = text.removeprefix("$ ").split("\n", 1)
    assert shell(command).stdout.startswith(printed)


@pytest.mark.parametrize("text", BENCHES)
def test_a_bench_prints_its_figures(text: str) -> None:
    words = shlex.split(filled_in(text))[1:]
    done = run_python(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("text", texts("python"))
def test_python_prints_an_answer(text: str, app_url: str) -> None:
    done = run_python("-c", text.replace(LOCAL_ADDRESS, app_url.rstrip("/")))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and "error" not in done.stdout


@pytest.mark.parametrize("document", sorted({s.document for s in SNIPPETS if s.kind == "pycon"}))
def test_a_dialogue_with_python_is_right(document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    found = [s.text for s in SNIPPETS if (s.document, s.kind) == (document, "pycon")]
    dialogue = doctest.DocTestParser().get_doctest("\n".join(found), {}, document, None, None)
    results = doctest.DocTestRunner().run(dialogue)
    assert (results.failed, results.attempted > 0) == (0, True)


def run_python(*words: str) -> subprocess.CompletedProcess[str]:
    """Run this Python in the checkout."""
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_SECONDS
    )


@pytest.mark.parametrize("text", texts(QUESTION))
def test_a_question_over_http_is_answered(text: str, app_url: str) -> None:
    path = text.removeprefix("GET /").replace("ORG/NAME", STAND_INS["MODEL"])
    answer = requests.get(app_url + path, timeout=TIMEOUT_SECONDS)
    assert answer.status_code == 200, answer.text
    assert "error" not in answer.json()


@pytest.mark.parametrize("text", texts("markdown"))
def test_addresses_in_markdown_are_served(text: str, app_url: str) -> None:
    addresses = re.findall(rf"{PUBLIC_ADDRESS}/([^)\s]*)", unquote(text))
    assert addresses
    for path in addresses:
        answer = requests.get(app_url + path, timeout=TIMEOUT_SECONDS)
        kind = "application/json" if path.startswith("v1/") else "text/html; charset=utf-8"
        assert (answer.status_code, answer.headers["content-type"]) == (200, kind)


@pytest.mark.parametrize("text", SERVERS)
def test_a_server_takes_the_next_free_port(text: str, tmp_path: Path) -> None:
    """The address that READMEs name is taken, by this test or by somebody else."""
    named = int(LOCAL_ADDRESS.rpartition(":")[2])
    with socket.socket() as taken, suppress(OSError):
        taken.bind(("127.0.0.1", named))
        taken.listen()
        with serving(text, tmp_path) as port:
            assert named < port < named + 100
            page = requests.get(f"http://127.0.0.1:{port}", timeout=TIMEOUT_SECONDS)
            assert page.status_code == 200 and "gpusizer" in page.text


@contextmanager
def serving(text: str, folder: Path) -> Iterator[int]:
    """Run a server's command in the checkout, without settings; yield the port that it prints."""
    words = shlex.split(text.replace("gpusizer", "python -m gpusizer"))[1:]
    ours = ("GPUSIZER_", "GRADIO_", "PORT", "HF_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    with (folder / "stderr.txt").open("w", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            [sys.executable, *words],
            cwd=ROOT,
            env={**kept, "HF_HUB_OFFLINE": "1", "GRADIO_TEMP_DIR": str(folder)},
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    with process:
        assert process.stdout
        try:
            printed = (re.search(r"http://127\.0\.0\.1:(\d+)", line) for line in process.stdout)
            port = next((int(found[1]) for found in printed if found), 0)
            assert port, (folder / "stderr.txt").read_text("utf-8")
            wait_for(port)
            yield port
        finally:
            process.terminate()
