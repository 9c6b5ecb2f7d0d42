"""Cases: a model type's configuration and tensors, and measurements of its own code."""

from __future__ import annotations

import json
import lzma
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpusizer.core.paths import DATA_DIR
from gpusizer.hub.snapshot import Component, Config, RepoSnapshot, WeightFile
from gpusizer.hub.tensors import TensorGroup

# cases of the repository: a line about them, then one a line
KEPT_CASES = DATA_DIR / "generated" / "model_types.jsonl.xz"

Row = tuple[int, float, int | None]  # (layers, elements cached for each token, window)


@dataclass(frozen=True, slots=True)
class Truth:
    """Facts of a class's own code; None if they could not be measured."""

    parameters: int  # each once
    # elements stored in addition, such as running means and padding rows of a vocabulary
    buffers: int
    active_parameters: int | None  # all except the routed experts that a token does not choose
    # Whether a token leaves anything for the next one; False for a class without `generate` if a
    # pass left nothing, or that takes no tokens.
    keeps: bool | None
    # content of each layer's cache after a forward pass, equal layers together
    cache: tuple[Row, ...] | None = None
    # fewest and most elements of recurrent states and convolution inputs of one sequence
    state_elements: tuple[int, int] | None = None

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Truth:
        """Return the truth of an object of `asdict`."""
        cache = data["cache"]
        rows = None if cache is None else tuple((n, size, window) for n, size, window in cache)
        states = data["state_elements"] and tuple(data["state_elements"])
        return cls(**{**data, "cache": rows, "state_elements": states})


@dataclass(frozen=True, slots=True)
class Case:
    """A model type with the class that was built, as a repository would hold it."""

    model_type: str
    class_name: str
    config: Config
    tensors: tuple[TensorGroup, ...]
    truth: Truth

    def snapshot(self) -> RepoSnapshot:
        """Return a repository of one file with this configuration and these tensors."""
        file = WeightFile("model.safetensors", None, sum(group.count for group in self.tensors))
        return RepoSnapshot(
            repo_id=f"transformers/{self.model_type}",
            revision="main",
            sha=None,
            source="local",
            retrieved_at="",
            format="safetensors",
            components=(Component("model", self.config, (file,), self.tensors),),
        )

    def to_json(self) -> dict[str, Any]:
        """Return a line of a set of cases."""
        return {
            "model_type": self.model_type,
            "class_name": self.class_name,
            "config": self.config,
            "tensors": [group.to_json() for group in self.tensors],
            "truth": asdict(self.truth),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Case:
        """Return the case of an object of `to_json`."""
        tensors = tuple(TensorGroup.from_json(group) for group in data["tensors"])
        truth = Truth.from_json(data["truth"])
        return cls(data["model_type"], data["class_name"], data["config"], tensors, truth)


@dataclass(frozen=True, slots=True)
class CaseSet:
    """Cases of one version of transformers."""

    version: str  # of transformers
    cases: tuple[Case, ...]
    # reasons why classes cannot be built from their defaults, by model type
    not_built: Mapping[str, str]


def read_cases(path: Path = KEPT_CASES) -> CaseSet:
    """Return the cases of a file of `write_cases`."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        about = json.loads(next(lines))
        cases = tuple(Case.from_json(json.loads(line)) for line in lines)
    return CaseSet(about["transformers"], cases, about["not_built"])


def write_cases(found: CaseSet, path: Path = KEPT_CASES) -> None:
    """Write cases in the order of their names; equal cases give equal files."""
    about = {"transformers": found.version, "not_built": dict(found.not_built)}
    ordered = sorted(found.cases, key=lambda case: case.model_type)
    objects = [about, *(case.to_json() for case in ordered)]
    lines = [json.dumps(item, separators=(",", ":"), sort_keys=True) for item in objects]
    text = "\n".join(lines) + "\n"
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
