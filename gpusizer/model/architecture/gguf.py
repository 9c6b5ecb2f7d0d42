"""An Architecture from the metadata of a GGUF file."""

# Metadata keys are turned into those of configurations, and the same resolution follows. Key names:
# https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from gpusizer.core.loose_values import JsonObject, JsonValue
from gpusizer.core.tables import toml_of
from gpusizer.hub.snapshot import Config
from gpusizer.model.architecture.config import ConfigView
from gpusizer.model.architecture.model import Architecture
from gpusizer.model.architecture.resolve import MAX_LAYERS, resolve_view
from gpusizer.model.tensor_roles import Kind, Part
from gpusizer.model.weights import WeightGroup

ARCHITECTURE = "general.architecture"
TOKENS_LENGTH = "tokenizer.ggml.tokens.length"

# llama.cpp decides from these keys which layers slide, keep a state or have no attention: some of
# it is in the file, some in its code alone (`gguf.toml`).
_TABLES = toml_of(__file__)
_KINDS: Mapping[str, list[str]] = _TABLES["architectures"]
_STATE_KEYS = ("ssm.state_size", "shortconv.l_cache", "kda.head_dim", "wkv.head_size")


def resolve_gguf(metadata: Config | None, groups: Sequence[WeightGroup]) -> Architecture | None:
    """Return the architecture, or None if the metadata does not name one with layers."""
    if metadata is None:
        return None
    # Class defaults are not used: converters write every fact that memory depends on.
    config = gguf_config(metadata, groups)
    view = ConfigView(outer=config, text=config, defaults={})
    architecture = resolve_view(view, groups, "text-generation")
    facts = _Facts(metadata)
    encodes = facts.name in _KINDS["encoders"] or facts.get("attention.causal") is False
    return replace(architecture, generates=False) if architecture and encodes else architecture


def gguf_config(metadata: Config, groups: Sequence[WeightGroup]) -> dict[str, JsonValue]:
    """Return the metadata under the key names of config.json, without absent facts."""
    facts = _Facts(metadata)
    layers = facts.layers()
    config = {
        config_key: facts.get(metadata_key)
        for config_key, metadata_key in _TABLES["renamed"].items()
    }
    config |= {
        "model_type": facts.name,
        "num_hidden_layers": layers,
        "intermediate_size": facts.largest("feed_forward_length")
        or facts.largest("expert_feed_forward_length"),
        "num_attention_heads": facts.largest("attention.head_count"),
        "num_key_value_heads": facts.largest("attention.head_count_kv"),
        "vocab_size": facts.get("vocab_size") or metadata.get(TOKENS_LENGTH),
        "mamba_n_heads": 1,  # the inner size is given whole
        "tie_word_embeddings": not _has_output(groups),
    }
    config |= _head_sizes(facts, groups) | _windows(facts) | _delta_attention(facts)
    if layers is not None and layers <= MAX_LAYERS:
        config["layer_types"] = [_layer_type(facts, layer) for layer in range(layers)]
    return {key: value for key, value in config.items() if value is not None}


class _Facts:
    """Metadata of the file's architecture. Values of a wrong type count as absent."""

    def __init__(self, metadata: JsonObject) -> None:
        name = metadata.get(ARCHITECTURE)
        self.name = name if isinstance(name, str) else "unknown"
        self._metadata = metadata
        self._numbers: dict[str, list[int]] = {}

    def get(self, key: str) -> JsonValue:
        return self._metadata.get(f"{self.name}.{key}")

    def number(self, key: str) -> int | None:
        value = self.get(key)
        return value if type(value) is int and value >= 0 else None

    def numbers(self, key: str) -> list[int]:
        # a lone number is an array of one
        if key not in self._numbers:
            value = self.get(key)
            values = value if isinstance(value, list) else [value]
            self._numbers[key] = [int(n) for n in values if isinstance(n, int) and n >= 0]
        return self._numbers[key]

    def largest(self, key: str) -> int | None:
        return max(self.numbers(key), default=None) or None

    def at(self, key: str, layer: int) -> int | None:
        # arrays that are too short repeat
        values = self.numbers(key)
        return values[layer % len(values)] if values else None

    def layers(self) -> int | None:
        # every token passes them; draft layers, which the file counts too, are left out
        blocks = self.number("block_count")
        drafts = self.number("nextn_predict_layers") or 0
        return None if blocks is None else max(blocks - drafts, 0)


def _head_sizes(facts: _Facts, groups: Sequence[WeightGroup]) -> dict[str, int | None]:
    # The latent of MLA is cached only by files that split up kv_b. Older files of the same models
    # have llama.cpp cache every head instead.
    key = facts.number("attention.key_length_mla")
    rope = facts.number("rope.dimension_count") or 0
    if key is None or not any(group.pattern.endswith("attn_k_b.weight") for group in groups):
        return {
            "head_dim": facts.number("attention.key_length"),
            "v_head_dim": facts.number("attention.value_length"),
        }
    return {
        "kv_lora_rank": facts.number("attention.kv_lora_rank"),
        "qk_rope_head_dim": rope,
        "qk_nope_head_dim": max(key - rope, 0),
        "v_head_dim": facts.number("attention.value_length_mla"),
    }


def _delta_attention(facts: _Facts) -> dict[str, int | None]:
    # Kimi Delta Attention has the heads of attention (llama.cpp `hparams.n_embd_s`)
    if facts.number("kda.head_dim") is None:
        return {}
    return {
        "linear_num_heads": facts.largest("attention.head_count"),
        "linear_conv_kernel_dim": facts.number("ssm.conv_kernel"),
    }


def _windows(facts: _Facts) -> dict[str, int | None]:
    size = facts.number("attention.sliding_window") or _TABLES["windows"].get(facts.name)
    return {"attention_chunk_size" if facts.name in _KINDS["chunked"] else "sliding_window": size}


def _layer_type(facts: _Facts, layer: int) -> str:
    if facts.name in _KINDS["recurrent"]:
        return "recurrent"
    period = facts.number("full_attention_interval") or _TABLES["attention_periods"].get(facts.name)
    if period:
        return "full_attention" if (layer + 1) % period == 0 else "linear_attention"
    if facts.at("attention.head_count_kv", layer) == 0:
        return _without_attention(facts, layer)
    if not any(_windows(facts).values()) or not _slides(facts, layer):
        return "full_attention"
    return "chunked_attention" if facts.name in _KINDS["chunked"] else "sliding_attention"


def _without_attention(facts: _Facts, layer: int) -> str:
    # recurrent if the model has states; Nemotron-H also has layers of a feed-forward alone
    feeds = facts.name.startswith("nemotron_h") and facts.at("feed_forward_length", layer)
    has_state = any(facts.number(key) for key in _STATE_KEYS)
    return "linear_attention" if has_state and not feeds else "mlp"


def _slides(facts: _Facts, layer: int) -> bool:
    # by the file's own pattern, a flag for each layer or a period, else by the code's
    pattern = facts.get("attention.sliding_window_pattern")
    if isinstance(pattern, list):
        return bool(facts.at("attention.sliding_window_pattern", layer))
    period = pattern if type(pattern) is int else _TABLES["window_periods"].get(facts.name, 1)
    return period == 0 or (period > 0 and layer % period < period - 1)


def _has_output(groups: Sequence[WeightGroup]) -> bool:
    # without a separate head llama.cpp uses the embedding
    heads = (g for g in groups if g.kind is Kind.OUTPUT and g.part is Part.TEXT)
    return any(True for _ in heads)
