"""Start gpusizer in its users' environments, and ask it one question by each interface.

    python3 scripts/smoke.py [space] [shell] [web]

Environments are made again from a copy of the tracked files. A server also fails if its log has a
traceback or an error of ours, whatever it answered. Needs Python 3.11, git and Chromium (or
$CHROMIUM). Exits with 1 and a sentence for each environment that fails.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.environment import NEWEST, OLDEST, ROOT, CannotPrepare, make

_START_SECONDS, _ANSWER_SECONDS = 120, 60
# A user without rights, as in the image and on a Space.
_NOBODY = 10_001
_MODEL, _PARAMETERS = "Qwen/Qwen3-8B", 8_190_735_360
_QUESTION = f"/v1/size?model={_MODEL}&top=1"
# One GPU: a plan over all of them takes seconds of a cold server's processor.
_LOAD = f"{_QUESTION}&gpu=h100&requests_per_second=10&prompt_tokens=1000&answer_tokens=100"
# No line of a healthy server's log matches this.
_FAULT = re.compile(r'Traceback|"exception"|\binternal\b|Internal Server Error')
# Modules that need the extra `redis`.
_OPTIONAL = ("redis_link", "shared_counter")
_IMPORT_ALL = """
import importlib, pkgutil, sys, gpusizer
left_out = sys.argv[1:]
for module in pkgutil.walk_packages(gpusizer.__path__, "gpusizer."):
    parts = module.name.split(".")
    if not set(parts) & set(left_out) and parts[-1] != "__main__":
        importlib.import_module(module.name)
"""
_ASK_BY_CLIENT = f"""
import sys
from gradio_client import Client
report = Client(sys.argv[1], verbose=False).predict(model="{_MODEL}", api_name="/size_model")
assert report["model"]["parameters"] == {_PARAMETERS}, report
"""
_ASK_LIBRARY = f"""
import gpusizer
answer = gpusizer.size("{_MODEL}", gpu="4090", offline=True)
assert answer.model.parameters == {_PARAMETERS} and answer.ranking[0].verdict == "fits", answer
"""


class Failure(Exception):
    """Raised if something that a user would do does not work; the text says what."""


@dataclass(frozen=True)
class Workshop:
    """Files and interpreters that all environments start from."""

    folder: Path  # temporary folder, removed at the end
    copy: Path  # the tracked files
    wheel: Path  # the package that the copy builds
    outside: Path  # Python of a visitor's own environment, with the emulated Hub, a browser and uv
    base: Path  # the interpreter of all environments, which the user without rights can run

    def environment(self, name: str, *requirements: str) -> Path:
        """Make an environment of these requirements alone; return its Python. Raises Failure."""
        folder = self.folder / name
        uv = self.outside.parent / "uv"
        run([uv, "venv", "--quiet", "--python", self.base, folder], cwd=self.folder)
        python = folder / "bin" / "python"
        options = ["--quiet", "--no-config", "--python", python]
        run([uv, "pip", "install", *options, *requirements], cwd=self.folder)
        return python


def main(chosen: Sequence[str]) -> int:
    """Smoke the chosen environments, all without a choice; return the exit status."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpusizer-smoke-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # for the user without rights
        try:
            workshop = open_workshop(folder)
        except (CannotPrepare, Failure) as error:
            print(f"smoke: nothing could be tried: {error}", file=sys.stderr)
            return 1
        wanted = [kind for kind in SMOKES if not chosen or kind in chosen]
        with ThreadPoolExecutor(2) as pool:
            failures = list(pool.map(lambda kind: failure_of(kind, workshop), wanted))
    for kind, failure in zip(wanted, failures, strict=True):
        print(f"smoke: {kind}: {failure or 'ok'}", file=sys.stderr, flush=True)
    print(f"smoke: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if any(failures) else 0


def failure_of(kind: str, workshop: Workshop) -> str:
    """Return the failure in an environment of this kind, "" for success."""
    try:
        SMOKES[kind](workshop)
    except (CannotPrepare, Failure, OSError, subprocess.SubprocessError) as error:
        return f"FAILED: {error}"
    return ""


def open_workshop(folder: Path) -> Workshop:
    """Copy the tracked files, build the wheel, and make the visitor's own environment."""
    base = shared_python()
    copy = folder / "copy"
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, tracked.stdout.decode().split("\0")):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target)
    outside = folder / "outside"
    pins = (copy / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    file = folder / "outside.txt"
    tools = [line for line in pins if re.match(r"(gguf|hatchling|playwright|uv)==", line)]
    file.write_text("".join(f"{line}\n" for line in [*tools, "safetensors"]), encoding="utf-8")
    make(outside, file)
    python = outside / "bin" / "python"
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--disable-pip-version-check"]
    run([python, "-m", "pip", "wheel", *options, "--wheel-dir", folder, copy], cwd=folder)
    return Workshop(folder, copy, next(folder.glob("gpusizer-*.whl")), python, base)


def shared_python() -> Path:
    """Return an interpreter that the user without rights can run. Raises Failure if none can."""
    script = f"import sys; sys.exit(not {OLDEST} <= sys.version_info[:2] <= {NEWEST})"
    for path in (Path(sys.executable).resolve(), Path("/usr/bin/python3")):
        try:
            if subprocess.run([path, "-c", script], user=user_without_rights()).returncode == 0:
                return path
        except OSError:
            continue
    raise Failure("a user without rights can run no Python that is recent enough")


def user_without_rights() -> int | None:
    """Return the user that servers run as: None for the present one, unless this is root."""
    return _NOBODY if os.geteuid() == 0 else None


def smoke_space(workshop: Workshop) -> None:
    """Serve as on a Space, and ask by every interface. Raises Failure."""
    # `requirements.txt` alone, a user without rights and without a home, code that is read-only.
    # `/healthz`, the page in Chromium, `/v1`, which plans for a load too, and Gradio's client are
    # asked, offline.
    python = workshop.environment("space", "-r", str(workshop.copy / "requirements.txt"))
    settings = {"SYSTEM": "spaces", "HF_HUB_OFFLINE": "1", "HOME": "/nowhere"}
    command = [python, "app.py"]
    with read_only(workshop.copy), served(workshop, "space", command, settings) as address:
        expect_json(f"{address}/healthz", lambda body: body["ready"] is True)
        expect_json(address + _QUESTION, lambda body: body["model"]["parameters"] == _PARAMETERS)
        expect_json(address + _LOAD, lambda body: body["serving_plan"]["rows"])
        page = f"{address}/?model={_MODEL}"
        run([workshop.outside, "-m", "scripts.smoke_visitor", "page", page], cwd=workshop.copy)
        run([python, "-c", _ASK_BY_CLIENT, address], cwd=workshop.folder)


def smoke_shell(workshop: Workshop) -> None:
    """Ask the program of the wheel. Raises Failure."""
    # The wheel alone: every module of the shell is imported, `gpusizer` is asked online over an
    # emulated Hub, offline, and for the catalogue; the library is asked one question.
    python = workshop.environment("shell", str(workshop.wheel))
    web = ("ui", "server", *_OPTIONAL)
    run([python, "-c", _IMPORT_ALL, *web], cwd=workshop.folder)
    program = python.parent / "gpusizer"
    with emulated_hub(workshop) as settings:
        expect_answer([program, "size", "org/model", "--json"], workshop, settings)
    expect_answer([program, "size", _MODEL, "--offline", "--json"], workshop)
    expect_answer([program, "gpus", "4090", "--json"], workshop)
    run([python, "-c", _ASK_LIBRARY], cwd=workshop.folder)


def smoke_web(workshop: Workshop) -> None:
    """Serve the page of the wheel, and ask it online. Raises Failure."""
    # The wheel with its extra `web`: every module but those of the extra `redis` is imported.
    python = workshop.environment("web", f"gpusizer[web] @ {workshop.wheel.as_uri()}")
    run([python, "-c", _IMPORT_ALL, *_OPTIONAL], cwd=workshop.folder)
    command = [python.parent / "gpusizer", "serve"]
    with (
        emulated_hub(workshop) as settings,
        served(workshop, "web", command, settings) as address,
    ):
        expect_json(f"{address}/v1/size?model=org/model", lambda body: body["ranking"])
        expect_json(f"{address}/healthz", lambda body: body["hub"]["state"] == "reached")


SMOKES: dict[str, Callable[[Workshop], None]] = {
    "space": smoke_space,
    "shell": smoke_shell,
    "web": smoke_web,
}


def run(command: Sequence[str | Path], cwd: Path, **variables: str) -> str:
    """Run a command and return its output. Raises Failure with the end of its error output."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=clean_environment(**variables),
        capture_output=True,
        text=True,
        timeout=_START_SECONDS,
    )
    if done.returncode:
        shown = " ".join(
            str(part).splitlines()[0] if str(part).strip() else "…" for part in command
        )
        raise Failure(f"`{shown}` ended with {done.returncode}:\n{done.stderr[-1500:]}")
    return done.stdout


def clean_environment(**variables: str) -> dict[str, str]:
    """Return variables of this machine without settings of Python, gpusizer, Gradio or the Hub."""
    ours = ("PYTHON", "GPUSIZER", "GRADIO", "HF_", "HUGGING", "VIRTUAL_ENV", "SPACE", "SYSTEM")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "GPUSIZER_CACHE_DIR": "off", **variables}


def expect_answer(
    command: Sequence[str | Path], workshop: Workshop, settings: dict[str, str] | None = None
) -> None:
    """Ask the shell, whose standard output has to be one JSON document. Raises Failure."""
    try:
        json.loads(run(command, workshop.folder, **(settings or {})))
    except ValueError:
        raise Failure(f"`{' '.join(map(str, command))}` printed no JSON") from None


def expect_json(url: str, holds: Callable[[dict[str, dict[str, object]]], object]) -> None:
    """Ask over HTTP. Raises Failure for an answer that does not hold."""
    try:
        with urllib.request.urlopen(url, timeout=_ANSWER_SECONDS) as answer:
            body = json.load(answer)
    except (OSError, ValueError) as error:
        raise Failure(f"{url}: {error}") from None
    if not holds(body):
        raise Failure(f"{url} answered {json.dumps(body)[:300]}")


@contextmanager
def served(
    workshop: Workshop, name: str, command: Sequence[str | Path], settings: dict[str, str]
) -> Iterator[str]:
    """Run a server until the context is left. Raises Failure."""
    # It has to end with 0 on SIGTERM, without a fault in its log.
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = workshop.folder / f"{name}.log"
    settings = {"PORT": str(port), "GRADIO_TEMP_DIR": "/tmp/gpusizer-smoke", **settings}
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=workshop.copy if name == "space" else workshop.folder,
            env=clean_environment(**settings),
            stdout=output,
            stderr=output,
            user=user_without_rights(),
        )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_healthy(address, process, log)
        try:
            yield address
        except Failure as error:
            raise Failure(f"{error}\n{log.read_text()[-1500:]}") from None
        process.send_signal(signal.SIGTERM)
        status = process.wait(_ANSWER_SECONDS)
        if status:
            raise Failure(f"the server ended with {status} on SIGTERM")
        fault = fault_in(log.read_text())
        if fault:
            raise Failure(f"the server's log has:\n{fault}")
    finally:
        process.kill()
        process.wait()


def fault_in(log: str) -> str:
    """Return a server's log from its first fault on, "" without a fault."""
    found = _FAULT.search(log)
    return "" if found is None else log[log.rfind("\n", 0, found.start()) + 1 :][:1500]


def wait_until_healthy(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the server answers. Raises Failure with its log if it ends or never does."""
    end = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=5).close()
            return
        except OSError:
            time.sleep(0.3)
    raise Failure(f"the server did not start:\n{log.read_text()[-1500:]}")


@contextmanager
def emulated_hub(workshop: Workshop) -> Iterator[dict[str, str]]:
    """Run an emulated Hub with the model `org/model`; yield the variables for its addresses."""
    process = subprocess.Popen(
        [workshop.outside, "-m", "scripts.smoke_visitor", "hub"],
        cwd=workshop.copy,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise Failure("the emulated Hub did not start")
        yield json.loads(line)
    finally:
        process.kill()
        process.wait()


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Take the right to write from all files of a folder, and give it back."""
    paths = [folder, *folder.rglob("*")]
    for path in paths:
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        yield
    finally:
        for path in paths:
            path.chmod(path.stat().st_mode | 0o200)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
