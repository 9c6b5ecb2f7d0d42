"""Modules that the shell loads to start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_cli import ENVIRONMENT, ROOT
from tests.hub_emulator import gguf_repo

_LOADED = """
import sys
from gpusizer.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print("\\n" + " ".join(sys.modules))
"""

# needed to read the Hub, a local file or a card, and for the page
READERS = {"requests", "redis", "numpy", "gguf", "safetensors", "markdown_it", "gradio", "pandas"}


def loaded(*arguments: str) -> tuple[str, set[str]]:
    """Return the output of a command line, and its loaded modules at the end."""
    shown = subprocess.run(
        [sys.executable, "-c", _LOADED, *arguments],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=True,
    )
    answer, _, names = shown.stdout.rstrip().rpartition("\n")
    return answer, set(names.split())


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_the_commands_are_listed_without_loading_them(arguments: list[str]) -> None:
    shown, modules = loaded(*arguments)
    assert "gpusizer" in shown
    ours = {name for name in modules if name.startswith("gpusizer.")}
    assert len(ours) < 10
    assert not modules & {*READERS, "pydantic", "huggingface_hub", "babel"}


def test_an_answer_from_what_is_stored_loads_no_reader(tmp_path: Path) -> None:
    shown, modules = loaded("size", "Qwen/Qwen3-8B", "--offline", "--json")
    assert json.loads(shown)["model"]["parameters"] == 8_190_735_360
    assert not modules & {
        *READERS,
        "huggingface_hub.hf_api",
        "scrapers.repository.hub",
        "scrapers.client.http",
    }
    repo = gguf_repo("org/name", ["Q4_K_M"])
    file = tmp_path / "model-Q4_K_M.gguf"
    content = repo.files[file.name]
    file.write_bytes(content.read(0, content.size))
    shown, modules = loaded("size", str(file), "--offline", "--json")
    assert json.loads(shown)["model"]["source"] == "local"
    assert "scrapers.formats.gguf_header" in modules
    assert not modules & {"gguf", "numpy", "gradio", "pandas"}
