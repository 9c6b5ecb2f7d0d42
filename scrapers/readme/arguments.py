"""Arguments of engines' commands: programs and the meaning of their options (`arguments.toml`)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpusizer.core.loose_values import Arguments, JsonObject, JsonValue, StoredObject, object_in
from gpusizer.core.tables import toml_of

_MOST_NUMBER_CHARS = 12

# Value of one field of a command; None if it leaves the choice to the engine.
Read = str | int | float | bool | None
# Fields of a statement or of its command by their names.
Fields = Arguments


def whole(text: str) -> int | None:
    """Return a whole number, also of "128k" and "32,768"; None for anything else.

    >>> whole("131072"), whole("10k"), whole("$TP")
    (131072, 10000, None)
    """
    digits = text.replace(",", "").replace("_", "")
    factor = {"k": 1_000, "K": 1024, "m": 10**6, "M": 2**20}.get(digits[-1:], 1)
    digits = digits[:-1] if factor > 1 else digits
    usable = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_NUMBER_CHARS
    return int(digits) * factor if usable else None


def positive(text: str) -> int | None:
    """Return a whole number above zero; None for 0 or -1, which leave the choice to the engine."""
    return whole(text) or None


def share(text: str) -> float | None:
    """Return a number from 0 to 1."""
    is_number = len(text) <= _MOST_NUMBER_CHARS and text.replace(".", "", 1).isdecimal()
    value = float(text) if is_number and text.isascii() else None
    return value if value is not None and 0 < value <= 1 else None


def word(text: str) -> str | None:
    """Return a short word without blanks, in lower case."""
    usable = 0 < len(text) <= 40 and text.isprintable() and not text.startswith(("$", "<", "{"))
    return text.lower() if usable and " " not in text else None


def name(text: str) -> str | None:
    """Return a model's name or path as it is written."""
    usable = 0 < len(text) <= 200 and text.isprintable() and not text.startswith(("$", "<", "-"))
    return text if usable else None


def _stated(value: JsonValue, read: Callable[[str], Read]) -> Read:
    return read(str(value)) if isinstance(value, int | float | str) else None


def json_settings(text: str) -> JsonObject:
    """Return an argument written as JSON; empty for anything else."""
    try:
        return object_in(json.loads(text[:2_000]))
    except (ValueError, RecursionError):
        return {}


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


def _rope(settings: JsonObject) -> Fields:
    factor = settings.get("factor")
    stretched = float(factor) if isinstance(factor, int | float) and 1 < factor <= 1_000 else None
    native = _stated(settings.get("original_max_position_embeddings"), positive)
    return {"yarn_factor": stretched, "native_context": native}


# Parser of the value of each field; that of any other is a number above zero.
READERS: Mapping[str, Callable[[str], Read]] = {
    "model": name,
    "draft_model": name,
    "file": name,
    "quant": word,
    "kv_dtype": word,
    "memory_utilization": share,
    "gpu_layers": whole,
    "flash_attention": lambda text: text.lower() not in ("off", "0", "false"),
}
_FLAGS = frozenset({"enforce_eager", "has_dp_attention"})
# Options whose value is JSON that states several fields.
_SETTINGS = {
    "speculation": _speculation,
    "rope": lambda text: _rope(json_settings(text)),
    "overrides": _overrides,
}

# Field that an option sets, by its spelling.
Options = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Program:
    """The command of an engine and its arguments."""

    engine: str
    # consecutive words that begin it; one with a full stop or hyphen also as the end of a path or
    # module
    words: tuple[str, ...]
    options: Options
    takes_model: bool = False  # the first argument that is no option is the model


_ENGINES: Mapping[str, StoredObject] = toml_of(__file__)


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
# Engines by the words of a container's image.
IMAGES: Mapping[str, Program] = {
    word_: Program(engine, (), _options(engine))
    for word_, engine in _ENGINES["any"]["images"].items()
}
LAUNCHERS: Sequence[str] = _ENGINES["pytorch"]["launchers"]
LAUNCHER_OPTIONS = _options("pytorch")


def read_arguments(words: Sequence[str], options: Options) -> tuple[Fields, list[str]]:
    """Return the fields that these arguments set, and the words that belong to no known option."""
    fields: Fields = {}
    rest: list[str] = []
    position = 0
    while position < len(words):
        spelling, has_value, value = words[position].partition("=")
        position += 1
        field = options.get(spelling.replace("_", "-") if spelling[:1] == "-" else spelling)
        if field is None:
            rest.append(words[position - 1])
            continue
        if not has_value and field not in _FLAGS and position < len(words):
            value = words[position]
            if _is_option(value):  # the value of a flag is optional
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
