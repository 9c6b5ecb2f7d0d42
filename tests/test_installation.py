"""The wheel: the shell runs from it in a folder of its own, with its tables and without tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import grimp
import pytest
from packaging.requirements import Requirement

from gpusizer.core.paths import DATA_DIR

ROOT = Path(__file__).resolve().parents[1]
_BENCHMARKS_ONLY = re.compile(
    r"generated/(accuracy\.|measured_models/|hf_mem|model_types|recommendations\.)"
    r"|measurements/(card_classes|gguf_sizes|pipelines|recommendations|training)\."
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this checkout, built without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
    command = [sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", str(folder), "."]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("gpusizer-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel's packages and program, without its dependencies."""
    folder = tmp_path_factory.mktemp("installed")
    options = ["--no-deps", "--no-index", "--quiet", "--no-compile"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder)]
    subprocess.run([*command, str(wheel)], check=True)
    return folder


def run(folder: Path, where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), "XDG_CACHE_HOME": str(where)}
    program = [sys.executable, str(folder / "bin" / "gpusizer"), *arguments]
    return subprocess.run(program, cwd=where, env=environment, capture_output=True, text=True)


def test_the_installed_program_answers_in_any_folder(installed: Path, tmp_path: Path) -> None:
    answer = run(
        installed, tmp_path, "size", "Qwen/Qwen3-8B", "--gpu", "4090", "--offline", "--json"
    )
    assert answer.returncode == 0, answer.stderr
    report = json.loads(answer.stdout)
    assert report["model"]["parameters"] == 8_190_735_360
    assert report["ranking"][0]["gpu"] == "rtx-4090-24gb"


def test_the_installed_library_answers_with_types(installed: Path, tmp_path: Path) -> None:
    code = """
import gpusizer
place = gpusizer.size("Qwen/Qwen3-8B", gpu="4090", offline=True).ranking[0]
print(gpusizer.__file__, place.gpu, place.verdict)
"""
    environment = {**os.environ, "PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert shown.returncode == 0, shown.stderr
    package = installed / "gpusizer"
    assert shown.stdout.split() == [str(package / "__init__.py"), "rtx-4090-24gb", "fits"]
    assert (package / "py.typed").is_file()


def test_the_shell_needs_nothing_of_the_page(installed: Path, tmp_path: Path) -> None:
    """With every package blocked that only `requirements.txt` names, it answers all the same."""
    page, shell = (
        {Requirement(line).name for line in pins(file)}
        for file in ("requirements.txt", "requirements-shell.txt")
    )
    blocked = [name.replace("-", "_") for name in page - shell]
    assert "gradio" in blocked
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked!r}))
from gpusizer.__main__ import main
sys.exit(main(["compare", "4090", "--model", "Qwen/Qwen3-8B", "--offline"]))
"""
    environment = {**os.environ, "PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert shown.returncode == 0, shown.stderr


def test_an_installed_program_reads_its_own_tables(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    code = "from gpusizer.core.paths import DATA_DIR; print(DATA_DIR)"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert Path(shown.stdout.strip()) == (installed / "gpusizer" / "data").resolve()


def test_the_wheel_holds_every_table_that_answers_read(wheel: Path) -> None:
    packed = {name for name in ZipFile(wheel).namelist() if not name.endswith("/")}
    tables = {
        f"gpusizer/data/{path.relative_to(DATA_DIR).as_posix()}"
        for path in DATA_DIR.glob("**/*")
        if path.is_file()
    }
    assert {name for name in tables - packed if not _BENCHMARKS_ONLY.search(name)} == set()
    assert {"gpusizer/text/pt.toml", "gpusizer/_scrapers/readme/arguments.toml"} <= packed
    assert "gpusizer/docs/accuracy.md" in packed
    assert {name.split("/")[0] for name in packed} == {"gpusizer", "gpusizer-1.0.0.dist-info"}


def test_serving_without_the_page_is_said_plainly(installed: Path, tmp_path: Path) -> None:
    code = """
import sys
sys.modules["gradio"] = None
from gpusizer.__main__ import main
sys.exit(main(["serve"]))
"""
    environment = {**os.environ, "PYTHONPATH": str(installed), "XDG_CACHE_HOME": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert shown.returncode == 2
    assert "pip install '.[web]'" in shown.stderr
    assert "gpusizer[" not in shown.stderr, "the name is not registered at PyPI"


def test_the_wheel_asks_for_ranges_and_its_page_for_pins(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        metadata = message_from_bytes(archive.read(name))
    required = [re.sub(r"[\s'\"]", "", line) for line in metadata.get_all("Requires-Dist", [])]
    shell = {line for line in required if ";" not in line}
    assert {str(Requirement(line)) for line in shell} == {
        str(Requirement(line)) for line in pins("requirements-shell.txt")
    }
    extras = {
        extra: {line.partition(";")[0] for line in required if line.endswith(f"extra=={extra}")}
        for extra in ("web", "redis")
    }
    assert extras["web"] == pins("requirements.txt")
    assert extras["redis"] == pins("requirements-redis.txt") - {"-r", "requirements.txt"}
    assert metadata["License-Expression"] == "Apache-2.0"


def pins(file: str) -> set[str]:
    """Return the requirements of a file, with names as metadata spells them."""
    text = (ROOT / file).read_text(encoding="utf-8")
    lines = re.sub(r"^#.*", "", text, flags=re.M).split()
    return {
        re.sub(r"^[\w.-]+", lambda name: name[0].replace("_", "-").lower(), line) for line in lines
    }


def test_the_shells_requirements_are_among_those_of_the_page() -> None:
    """A Space installs requirements.txt alone, which therefore includes no other file. The shell
    lives beside other people's packages: a range, within which lies the version that is tested."""
    pinned = {line.name: line for line in map(Requirement, pins("requirements.txt"))}
    ranges = list(map(Requirement, pins("requirements-shell.txt")))
    assert len(ranges) >= 9
    for wanted in ranges:
        (exact,) = pinned[wanted.name].specifier
        assert exact.operator == "==" and wanted.specifier.contains(exact.version)
        assert {bound.operator for bound in wanted.specifier} == {">=", "<"}


# Imported as parts of the interface of a package that is pinned, which says which release goes
# with it.
PARTS_OF = {"annotated-types": "pydantic", "pydantic-core": "pydantic", "urllib3": "requests"}
ALIASES = {"yaml": "pyyaml", "markdown-it": "markdown-it-py"}


def test_every_package_that_is_imported_has_its_pin() -> None:
    files = ("requirements.txt", "requirements-redis.txt")
    lines = [line for file in files for line in pins(file) if "==" in line]
    pinned = {Requirement(line).name for line in lines}
    ours = ("gpusizer", "scrapers")
    graph = grimp.build_graph(*ours, include_external_packages=True, cache_dir=None)
    others = {name.split(".")[0] for name in graph.modules} - sys.stdlib_module_names - set(ours)
    imported = {name.replace("_", "-") for name in others}
    assert {ALIASES.get(name, name) for name in imported - PARTS_OF.keys()} == pinned
    assert PARTS_OF.keys() <= imported and set(PARTS_OF.values()) <= pinned
