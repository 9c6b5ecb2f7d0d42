"""Converts published losses of quantizations to rows of `quality.jsonl`."""

from __future__ import annotations

import re

from scripts.measurement_rows.common import ModelMap, Row, compact

_ABOUT = {"weights (image model)": "image_weights"}
_REPOS = {
    "LLaMA-7B (v1)": "huggyllama/llama-7b",
    "LLaMA-65B (v1)": "huggyllama/llama-65b",
    "Bonsai-8B (1-bit)": "prism-ml/Bonsai-8B-gguf",
}
_FLAGS = (
    (r"perplexity of this model is unreliable", "noisy_baseline"),
    (r"method failed", "failed"),
    (r"withdrawn and replaced", "withdrawn"),
    (r"any quantized K cache damages", "one_reporter"),
)
_TRAINED = ("paretoq", "efficientqat", "spinquant", "qlora")
"""Methods that train weights: what they make is no conversion that a user can ask for."""

_FAMILIES = (
    # pattern of "format quantization" -> family of data/quality_recipes.csv; the first counts
    (r"\S+ (fp|bf|f)(16|32)$", "plain"),
    (r"gguf .*-pure", "pure"),
    (r"gguf (ud-)?q\d_k(_[a-z]+)?$", "k"),
    (r"gguf (ud-)?q8_(0|k_xl)$", "k"),
    (r"gguf q[456]_[01]$", "legacy"),
    (r"gguf mxfp4_moe$", "legacy"),
    (r"gguf (ud-)?iq[1-4]_(xxs|xs|s|m|nl)$", "iq"),
    (r"gguf .*\+(autoround|opt-rtn)", "tuned"),
    (r"gguf ", "tuned"),
    (r"\S+ nvfp4", "nvfp4"),
    (r"\S+ mxfp4", "mxfp4"),
    (r"\S+ int8-w8a8", "int8_activations"),
    (r"\S+ .*w4a[48]", "low_activations"),
    (r"\S+ fp8", "fp8"),
    (r"\S+ .*int8", "int8"),
    (r"nvfp4 ", "nvfp4"),
    (r"(exl2|exl3|mlx) ", r"\1"),
    (r"\S+ (rtn|hqq|nf4|fp4|opt-rtn)", "rounded"),
    (r"(awq|gptq|autoround|int[234]|openvino-int4) ", "calibrated"),
)
_SLUGS = (
    (r"(fp|bf|f)16", "bf16"),
    (r"fp8-w8a8.*", "fp8"),
    (r"int8-w8a8.*", "int8"),
    (r"llm\.int8", "bnb-int8"),
    (r"(int8-w8a16|gptq-int8).*", "gptq-int8-g128"),
    (r"(nvfp4|mxfp4|nf4|nf4-dq)", r"\1"),
    (r"(exl[23]-[\d.]+)bpw", r"\1"),
)
_NAMES = {"nf4": "bnb-nf4", "nf4-dq": "bnb-nf4-dq"}


def convert(row: Row, models: ModelMap) -> Row | None:
    """Convert one measurement; None without an address."""
    name = row["quantization"]
    if not row["source"].startswith("https://"):
        return None
    notes, baseline = row.get("notes") or "", row["baseline_quantization"]
    flags = [flag for pattern, flag in _FLAGS if re.search(pattern, notes)]
    if row["method"] in _TRAINED or "qat" in f"{name} {row['model']} {baseline}".casefold():
        flags.append("trained")
    if "highest measured" in baseline:
        flags.append("lossy_baseline")
    parameters = round(row["parameters_b"] * 1e9)
    return compact(
        {
            "kind": "quality",
            "id": row["id"],
            "source_group": row["source_group"],
            "source_url": row["source"],
            "file_url": row.get("table"),
            "date": row["date"],
            "repo": _REPOS.get(row["model"], row["model"]),
            "model_family": row["family"],
            "parameters": parameters,
            "released": row["model_released"],
            "about": _ABOUT.get(row["about"], row["about"]),
            "quant": slug_of(name),
            "quantization": name,
            "family": family_of(row["format"], name),
            "method": row["method"],
            "bits_per_weight": row["bits_per_weight"],
            "bits_scope": row["bpw_scope"],
            "importance_matrix": {"yes": True, "no": False}.get(row["imatrix"]),
            "maker": row.get("maker"),
            "kv_dtype": row.get("kv_quant"),
            "metric": row["metric"],
            "setup": row["setup"],
            "higher_is_better": row["higher_is_better"],
            "value": row["value"],
            "value_se": row.get("value_se"),
            "baseline": baseline,
            "baseline_value": row["baseline_value"],
            "ln_ratio": row.get("ln_ratio"),
            "flags": flags,
        }
    )


def family_of(file_format: str, name: str) -> str:
    """Return the family of a quantization, "other" for a scheme that gpusizer does not size."""
    for pattern, family in _FAMILIES:
        match = re.match(pattern, f"{file_format} {name}")
        if match:
            return match.expand(family)
    return "other"


def slug_of(name: str) -> str:
    """Return the slug of the quantization in gpusizer; the source's own name where it has none."""
    for pattern, slug in _SLUGS:
        match = re.fullmatch(pattern, name)
        if match:
            name = match.expand(slug)
            break
    return _NAMES.get(name, name)
