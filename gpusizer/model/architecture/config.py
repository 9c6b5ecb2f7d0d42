"""ConfigView: facts of a config.json under any key names that model classes use."""

# Configurations nest the language model under several names, spell one fact in many ways and omit
# defaults of their class. A value of the wrong type counts as absent, so a hostile or broken
# configuration cannot turn into a number.

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache

from gpusizer.core.loose_values import JsonObject, JsonValue, object_in
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import toml_of
from gpusizer.hub.snapshot import Config

_MAX_INTEGER = 10**9
_MAX_REPEATED = 1_000  # as many as the layers of a model may be
# The language model inside a multimodal configuration, most specific first.
_NESTED = (
    "decoder_config",
    "text_config",
    "llm_config",
    "language_config",
    "thinker_config",
    "decoder",
)
_NEST_DEPTH = 3

_TABLES = toml_of(__file__)
# our name of a fact -> the keys configurations use for it
SYNONYMS: dict[str, list[str]] = _TABLES["synonyms"]
# names of each kind of layer in configurations
LAYER_KINDS: dict[str, list[str]] = _TABLES["layer_kinds"]
# keys of heads of layers with a window, if these have other heads
SLIDING_HEADS: dict[str, list[str]] = _TABLES["sliding_heads"]
# `model_type`s that imply facts their configurations omit
MODEL_TYPES: dict[str, list[str]] = _TABLES["model_types"]


@dataclass(slots=True)
class ConfigView:
    """The language model's part of a configuration."""

    outer: Config
    text: Config
    defaults: JsonObject
    # levels from the outer to the inner configuration
    between: list[Config] = field(default_factory=list)
    defaulted: list[str] = field(default_factory=list)  # facts answered from class defaults
    asked: set[str] = field(default_factory=set)  # every key that was looked up

    @property
    def model_type(self) -> str:
        """The language model's `model_type`, or the whole model's, or "unknown"."""
        for config in (self.text, self.outer):
            value = config.get("model_type")
            if isinstance(value, str) and value:
                return value[:100]
        return "unknown"

    def integer(self, fact: str) -> int | None:
        """Return a positive integer under any synonym, else the class default, or None."""
        for key in SYNONYMS[fact]:
            value = _positive_int(self._lookup(key))
            if value is not None:
                return value
        default = _positive_int(self.defaults.get(fact))
        if default is not None:
            self.defaulted.append(fact)
        return default

    def states(self, fact: str) -> bool:
        """Return whether the configuration itself gives this integer, without class defaults."""
        return any(_positive_int(self._lookup(key)) is not None for key in SYNONYMS[fact])

    def flag(self, key: str) -> bool | None:
        """Return a boolean by its exact key, inner configuration first, else the class default."""
        self.asked.add(key)
        for config in (self.text, self.outer):
            value = config.get(key)
            if isinstance(value, bool):
                return value
        default = self.defaults.get(key)
        return default if isinstance(default, bool) else None

    def is_tied(self) -> bool:
        """Return whether both embeddings are one matrix, unless any level denies it."""
        # Each class reads its own level (transformers `PreTrainedModel.tie_weights`), and an outer
        # one repeats the settings the language model was published with.
        key = "tie_word_embeddings"
        said = [level.get(key) for level in (self.text, *self.between, self.outer)]
        flags = [flag for flag in said if isinstance(flag, bool)]
        return all(flags) if flags else self.defaults.get(key) is True

    def number(self, *keys: str) -> int | None:
        """Return a positive integer by the first of these keys, or its class default."""
        for key in keys:
            for value in (self._lookup(key), self.defaults.get(key)):
                if (number := _positive_int(value)) is not None:
                    return number
        return None

    def sequence(self, key: str) -> list[JsonValue] | None:
        """Return a non-empty list by its exact key, or None."""
        value = self._lookup(key)
        return value if isinstance(value, list) and value else None

    def text_value(self, key: str) -> str | None:
        """Return a non-empty string by its exact key, or None."""
        value = self._lookup(key)
        return value if isinstance(value, str) and value else None

    def mapping(self, key: str) -> Config:
        """Return a nested object by its exact key; empty if absent."""
        return object_in(self._lookup(key))

    def has(self, key: str) -> bool:
        """Return whether the key is present with a value other than null."""
        return self._lookup(key) is not None

    def _lookup(self, key: str) -> JsonValue:
        self.asked.add(key)
        if self.text.get(key) is not None:
            return self.text[key]
        for nested in ("attn_config", "ffn_config"):  # MPT and DBRX split their configuration
            inner = object_in(self.text.get(nested))
            if inner.get(key) is not None:
                return inner[key]
        return None


def view(config: Config) -> ConfigView:
    """Return the language-model view of a parsed config.json."""
    text = config
    levels: list[Config] = []
    for _ in range(_NEST_DEPTH):
        nested = (text.get(key) for key in _NESTED)
        inner = next((part for part in nested if isinstance(part, dict)), None)
        if inner is None or ("hidden_size" in text and "num_hidden_layers" in text):
            break
        levels.append(text)
        text = inner
    result = ConfigView(outer=config, text=text, defaults={}, between=levels[1:])
    defaults_by_type = class_defaults()
    outer_type = config.get("model_type")
    for model_type in (result.model_type, outer_type if isinstance(outer_type, str) else ""):
        if model_type in defaults_by_type:
            result.defaults = defaults_by_type[model_type]
            break
    return result


@cache
def class_defaults() -> dict[str, dict[str, JsonValue]]:
    """Return defaults of transformers' configuration classes, by model_type, with their source."""
    text = (DATA_DIR / "class_defaults.json").read_text(encoding="utf-8")
    data: dict[str, dict[str, JsonValue]] = json.loads(text)["model_types"]
    return data


def _positive_int(value: JsonValue) -> int | None:
    if isinstance(value, list):
        value = _repeated(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 < value <= _MAX_INTEGER or value != int(value):
        return None
    return int(value)


def _repeated(values: list[JsonValue]) -> JsonValue:
    # some configurations repeat a number for every layer
    first = values[0] if 0 < len(values) <= _MAX_REPEATED else None
    is_number = isinstance(first, int | float)
    return first if is_number and values.count(first) == len(values) else None


PARAMS = "params.json"


def config_of_params(params: Config | None) -> Config | None:
    """Return the configuration of Mistral's params.json, or None if it is not Mistral's."""
    if params is None or "dim" not in params or "n_layers" not in params:
        return None
    # Present and null: the class's default window belongs to its first model alone.
    config: dict[str, JsonValue] = {"model_type": "mistral", "sliding_window": None}
    config |= {_TABLES["params"].get(key, key): value for key, value in params.items()}
    moe = params.get("moe")
    if isinstance(moe, dict):
        config |= {name: moe[key] for key, name in _TABLES["params_moe"].items() if key in moe}
    quantization = params.get("quantization")
    if isinstance(quantization, dict) and "fp8" in str(quantization.get("qformat_weight")):
        config["quantization_config"] = {"quant_method": "fp8"}
    return config
