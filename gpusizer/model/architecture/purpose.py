"""ModelRole: whether a model writes token by token, by its class, its pipeline tag and its keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpusizer.core.tables import toml_of
from gpusizer.model.architecture.config import MODEL_TYPES, ConfigView, class_defaults

_TABLES = toml_of(__file__)
_CLASSES: dict[str, list[str]] = _TABLES["classes"]
_TAGS: dict[str, list[str]] = _TABLES["tags"]

Reads = Literal["text", "other"]


@dataclass(frozen=True, slots=True)
class ModelRole:
    """The role of a model: whether it writes text."""

    generates: bool  # it writes tokens one after another and keeps keys and values of each
    # input of a model that writes nothing: text, or images, sound and the like alone
    reads: Reads = "text"
    assumed: bool = False  # no class, tag or key states it


def purpose_of(config: ConfigView, tag: str | None) -> ModelRole:
    """Return the role by class, then pipeline tag, then other keys of the configuration."""
    names = _class_names(config)
    stated = {word for name in names if (word := _of_class(name)) is not None}
    if "generates" in stated:
        return ModelRole(generates=True)
    silent = ModelRole(generates=False, reads=_reads(config, tag, "senses" in stated))
    if stated or config.model_type in MODEL_TYPES["encodes"] or _reads_both_ways(config):
        return silent
    if tag in _TAGS["generates"]:
        return ModelRole(generates=True)
    if tag in _TAGS["senses"]:
        return silent
    if config.model_type in class_defaults():
        return ModelRole(generates=True)
    if tag in _TAGS["reads"]:
        return silent
    # A configuration without a class is a language model's.
    if not names:
        return ModelRole(generates=True, assumed=True)
    has_words = config.states("vocab_size")
    if has_words and _decodes(config):
        return ModelRole(generates=True)
    keeps = config.flag("use_cache") is True and config.states("kv_heads")
    guessed = ModelRole(generates=True) if has_words and keeps else silent
    return replace(guessed, assumed=True)


def _reads(config: ConfigView, tag: str | None, senses: bool) -> Reads:
    # text unless class, tag or keys state another input
    if tag in _TAGS["reads"]:
        return "text"
    if senses or tag in _TAGS["senses"] or tag in _TAGS["speech"]:
        return "other"
    has_words = config.states("vocab_size") or "vocab_size" in config.defaults
    beside = any(isinstance(config.outer.get(name), dict) for name in _OTHER_SENSES)
    return "text" if has_words and not beside else "other"


def _class_names(config: ConfigView) -> list[str]:
    for part in (config.outer, config.text):
        classes = part.get("architectures")
        if isinstance(classes, list) and classes:
            return [name for name in classes if isinstance(name, str)]
    return []


def _of_class(name: str) -> str | None:
    # the longest known ending wins
    endings = (
        (len(end), word) for word, ends in _CLASSES.items() for end in ends if name.endswith(end)
    )
    return max(endings, default=(0, None))[1]


def _reads_both_ways(config: ConfigView) -> bool:
    # if every token attends to later ones too, nothing can be kept
    both, causal = config.flag("use_bidirectional_attention"), config.flag("is_causal")
    return both is True or causal is False


def _decodes(config: ConfigView) -> bool:
    # remote code or a decoder flag states that the class writes
    remote = config.outer.get("auto_map")
    if isinstance(remote, dict) and any(name in remote for name in _CLASSES_OF_CODE):
        return True
    return bool(config.flag("is_encoder_decoder") or config.flag("is_decoder"))


_OTHER_SENSES = ("vision_config", "audio_config")
_CLASSES_OF_CODE = ("AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForImageTextToText")
