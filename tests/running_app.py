"""The application in a process of its own, with settings of a test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class RunningApp:
    """The address of the running application, and its log so far."""

    url: str
    log: Path


@contextmanager
def running_app(folder: Path, **settings: str) -> Iterator[RunningApp]:
    """Run `python -m tests.serve` with these environment variables until the context is left.

    No other variable of gpusizer's is passed on. Its log and its temporary files are in `folder`.
    """
    log = folder / "stderr.txt"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GPUSIZER_")
    }
    environment |= {"GRADIO_TEMP_DIR": str(folder), "HF_HUB_OFFLINE": "1", **settings}
    with log.open("w", encoding="utf-8") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.serve"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    with process:
        assert process.stdout
        # Gradio prints a line about its MCP server first, even with `quiet`.
        url = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        if not url:
            process.kill()
            pytest.fail(f"the application did not start:\n{log.read_text('utf-8')}")
        yield RunningApp(url, log)
        process.terminate()
