"""Texts with characters that are not seen, put into each text of a repository."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import reduce
from typing import Any

from gpusizer.core.messages import Note
from gpusizer.hub.snapshot import RepoSnapshot
from tests.builders import snapshot, tiny
from tests.gguf_snapshots import file_variant, llama_gguf

SIGN = "FORGED"  #
POISON = f"\x1b[2J\x07\0\x7f\x9b1m\u200b\u202e\u2066\u2028\u2029\r\t\ud800\U000e0041\n{SIGN}"

POISONED_MODEL = "poisoned/model"

Path = tuple[str | int, ...]


def hidden(text: str) -> list[str]:
    """Return control, format and bidirectional characters, surrogates and line ends of a text."""
    unseen = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return [character for character in text if unicodedata.category(character) in unseen]


def texts(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of texts: fields, members and keys of objects, elements of lists."""
    if isinstance(value, str):
        yield path
    else:
        for step, part in _parts(value):
            yield from texts(part, (*path, step))


def poisoned(value: Any, path: Path) -> Any:
    """Return the value with `POISON` behind the text at a path."""
    if not path:
        return value + POISON
    step, *remaining_path = path
    part = poisoned(dict(_parts(value))[step], tuple(remaining_path))
    if isinstance(value, Note):
        return Note(value.code, **{**value.fields, str(step): part})
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{str(step): part})
    if isinstance(value, Mapping):
        return {(part if step == f"key {key}" else key): value[key] for key in value} | (
            {} if str(step).startswith("key ") else {str(step): part}
        )
    return type(value)(part if place == step else old for place, old in enumerate(value))


def _parts(value: Any) -> list[tuple[str | int, Any]]:
    if isinstance(value, Note):  # the code is gpusizer's own
        return list(value.fields.items())
    if is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, Mapping):
        return [*value.items(), *((f"key {key}", key) for key in value)]
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    return []


def gptq() -> RepoSnapshot:
    """Return a small Llama with every field that a repository may fill."""
    base = tiny()
    (component,) = base.components
    quantization = {
        "quant_method": "gptq",
        "bits": 4,
        "desc_act": False,
        "modules_to_not_convert": ["lm_head"],
    }
    config = {
        **(component.config or {}),
        "quantization_config": quantization,
        "torch_dtype": "bfloat16",
        "layer_types": ["full_attention"] * 4,
        "rope_scaling": {"rope_type": "yarn"},
    }
    return snapshot(
        component.tensors,
        config,
        license="mit",
        base_models=("org/base",),
        pipeline_tag="text-generation",
        library="transformers",
        evidence=("lfs",),
        base_relation="finetune",
        languages=("en",),
        extra_configs={"quantize_config.json": {"quant_method": "gptq"}},
        uncounted_files=component.files,
        variants=(file_variant("Q4_K_M", 10**6),),
        notes=(Note("gguf_raw_pieces", names="a, b"),),
    )


def gguf() -> RepoSnapshot:
    """Return a GGUF repository of a model, another quantization and a projector."""
    others = (file_variant("Q8_0", 10**6), file_variant("mmproj", 10**5, "projector"))
    return llama_gguf("Q4_K", others)


def every_text_poisoned(repo: RepoSnapshot) -> RepoSnapshot:
    """All texts at once, except for those that decide which answer there is."""
    structure = ("format", "source", "dtype", "pattern", "kind")
    structure += ("model_type", "general.architecture")
    paths = [
        path
        for path in texts(repo)
        if path[-1] not in structure and not str(path[-1]).startswith("key ")
    ]
    return reduce(poisoned, paths, repo)
