"""Mistral's own `params.json`, said in the words of a config.json.

Source: mistral-inference, src/mistral_inference/args.py (TransformerArgs), and vLLM's
transformers_utils/configs/mistral.py, which does the same.
"""

from __future__ import annotations

from typing import Any

from gpusizer.snapshot import Config

PARAMS = "params.json"

_SPELLINGS = {
    "dim": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "hidden_dim": "intermediate_size",
    "max_seq_len": "max_position_embeddings",
    "model_max_length": "max_position_embeddings",
    "tied_embeddings": "tie_word_embeddings",
}
_MOE_SPELLINGS = {
    "num_experts": "num_local_experts",
    "num_experts_per_tok": "num_experts_per_tok",
}


def config_of_params(params: Config | None) -> Config | None:
    """The configuration these parameters mean; None when they are not Mistral's."""
    if params is None or "dim" not in params or "n_layers" not in params:
        return None
    # Present and null: the class's default window belongs to its first model alone.
    config: dict[str, Any] = {"model_type": "mistral", "sliding_window": None}
    config |= {_SPELLINGS.get(key, key): value for key, value in params.items()}
    moe = params.get("moe")
    if isinstance(moe, dict):
        config |= {name: moe[key] for key, name in _MOE_SPELLINGS.items() if key in moe}
    quantization = params.get("quantization")
    if isinstance(quantization, dict) and "fp8" in str(quantization.get("qformat_weight")):
        config["quantization_config"] = {"quant_method": "fp8"}
    return config
