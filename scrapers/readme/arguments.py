"""The arguments of engines' commands: where a command begins, and which option means what.

`card_arguments.toml` has the engines' programs, options and names in Python.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusizer.core.tables import toml_of
from scrapers.readme.quants import quant_in

_MOST_NUMBER_CHARS = 12
_LEAST_ABBREVIATION = 7  # characters of an option that argparse would complete: "--mem-fr"

Fields = dict[str, Any]


def whole(text: str) -> int | None:
    """A whole number, also "128k" and "32,768"; None for anything else.

    >>> whole("131072"), whole("10k"), whole("$TP")
    (131072, 10000, None)
    """
    digits = text.replace(",", "").replace("_", "")
    factor = {"k": 1_000, "K": 1024, "m": 10**6, "M": 2**20}.get(digits[-1:], 1)
    digits = digits[:-1] if factor > 1 else digits
    usable = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_NUMBER_CHARS
    return int(digits) * factor if usable else None


def positive(text: str) -> int | None:
    """A whole number above zero: where 0 or -1 leave the choice to the engine, nothing is said."""
    return whole(text) or None


def share(text: str) -> float | None:
    """A number from 0 to 1."""
    is_number = len(text) <= _MOST_NUMBER_CHARS and text.replace(".", "", 1).isdecimal()
    value = float(text) if is_number and text.isascii() else None
    return value if value is not None and 0 < value <= 1 else None


def word(text: str) -> str | None:
    """A short word without blanks, in small letters."""
    usable = 0 < len(text) <= 40 and text.isprintable() and not text.startswith(("$", "<", "{"))
    return text.lower() if usable and " " not in text else None


def name(text: str) -> str | None:
    """A model's name or path as it is written."""
    usable = 0 < len(text) <= 200 and text.isprintable() and not text.startswith(("$", "<", "-"))
    return text if usable else None


def _stated(value: Any, read: Callable[[str], Any]) -> Any:
    return read(str(value)) if isinstance(value, int | float | str) else None


def json_settings(text: str) -> Mapping[str, Any]:
    """An argument written as JSON; empty for anything else."""
    try:
        settings = json.loads(text[:2_000])
    except (ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _speculation(text: str) -> Fields:
    settings = json_settings(text)
    return {
        "draft_tokens": _stated(settings.get("num_speculative_tokens"), positive),
        "draft_model": _stated(settings.get("model"), name),
    }


def _overrides(text: str) -> Fields:
    settings = json_settings(text)
    nested = settings.get("rope_scaling") or settings.get("rope_parameters")
    return _rope(nested) if isinstance(nested, dict) else {}


def _rope(settings: Mapping[str, Any]) -> Fields:
    factor = settings.get("factor")
    is_number = isinstance(factor, int | float) and 1 < factor <= 1_000
    native = _stated(settings.get("original_max_position_embeddings"), positive)
    return {"yarn_factor": float(factor) if is_number else None, "native_context": native}  # type: ignore[arg-type]


READERS: Mapping[str, Callable[[str], Any]] = {
    "model": name,
    "draft_model": name,
    "file": name,
    "quant": word,
    "kv_dtype": word,
    "memory_utilization": share,
    "gpu_layers": whole,
    "flash_attention": lambda text: text.lower() not in ("off", "0", "false"),
}
"""How the value of a field is read; that of any other is a number above zero."""
_FLAGS = frozenset({"enforce_eager", "has_dp_attention"})
_SETTINGS = {
    "speculation": _speculation,
    "rope": lambda text: _rope(json_settings(text)),
    "overrides": _overrides,
}
"""Options whose value is JSON that states several fields."""

Options = Mapping[str, str]
"""What an option states, by its spelling."""


@dataclass(frozen=True, slots=True)
class Program:
    """How an engine's command is told, and what its arguments mean.

    Attributes:
        words: consecutive words that begin it; one with a full stop or hyphen also as the end of
            a path or module.
        takes_model: the first argument that is no option is the model.
    """

    engine: str
    words: tuple[str, ...]
    options: Options
    takes_model: bool = False


_ENGINES: Mapping[str, Mapping[str, Any]] = toml_of(__file__)


def _options(engine: str) -> Options:
    options: Mapping[str, str] = _ENGINES[engine].get("options", {})
    return {
        spelling: field for field, spellings in options.items() for spelling in spellings.split()
    }


PROGRAMS = tuple(
    Program(engine, tuple(command.split()), _options(engine), kind == "model_commands")
    for engine in _ENGINES
    for kind in ("model_commands", "commands")
    for command in _ENGINES[engine].get(kind, ())
)
IMAGES: Mapping[str, Program] = {
    word_: Program(engine, (), _options(engine))
    for word_, engine in _ENGINES["any"]["images"].items()
}
"""Engines by what names them in a container's image."""
LAUNCHERS: Sequence[str] = _ENGINES["pytorch"]["launchers"]
LAUNCHER_OPTIONS = _options("pytorch")
PYTHON_NAMES: Mapping[str, tuple[str, str]] = {
    spelling: ("" if engine == "any" else engine, field)
    for engine, facts in _ENGINES.items()
    for spelling, field in facts.get("python", {}).items()
}
"""Names of Python's calls: the engine that alone has them, "" for several, and the field."""


def python_value(spelling: str, field: str, text: str) -> Any:
    """The value that a call in Python gives to a field; None where it says nothing."""
    if spelling in _PYTHON_READERS:
        return _PYTHON_READERS[spelling](text)
    return READERS.get(field, positive)(text)


_PYTHON_READERS: Mapping[str, Callable[[str], Any]] = {
    "n_gpu_layers": positive,
    "torch_dtype": quant_in,
    "model": lambda text: name(text) if "/" in text else None,
    "load_in_4bit": lambda text: "int4" if text == "True" else None,
    "load_in_8bit": lambda text: "int8" if text == "True" else None,
}


def read_arguments(words: Sequence[str], options: Options) -> tuple[Fields, list[str]]:
    """The fields that these arguments set, and the words that belong to no known option."""
    fields: Fields = {}
    rest: list[str] = []
    position = 0
    while position < len(words):
        spelling, has_value, value = words[position].partition("=")
        position += 1
        field = _find(spelling, options)
        if field is None:
            rest.append(words[position - 1])
            continue
        if not has_value and field not in _FLAGS and position < len(words):
            value = words[position]
            if _is_option(value):  # a flag whose value may be left out
                value = ""
            else:
                position += 1
        fields |= {key: item for key, item in _values(field, value).items() if item is not None}
    return fields, rest


def _values(field: str, value: str) -> Fields:
    if field in _SETTINGS:
        return _SETTINGS[field](value)
    return {field: True if field in _FLAGS else READERS.get(field, positive)(value)}


def _is_option(word_: str) -> bool:
    return word_[:1] == "-" and not word_[1:2].isdigit()


def _find(spelling: str, options: Options) -> str | None:
    """What an option states, by its spelling or the only one that it can be short for."""
    key = spelling.replace("_", "-") if spelling.startswith("-") else spelling
    if key in options or not key.startswith("--") or len(key) < _LEAST_ABBREVIATION:
        return options.get(key)
    longer = [name_ for name_ in options if name_.startswith(key)]
    return options[longer[0]] if len(longer) == 1 else None
