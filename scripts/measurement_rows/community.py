"""Converts speeds that users measured on their own machines to rows of `throughput.jsonl`."""

from __future__ import annotations

import re

from gpusizer.core.tables import toml_of
from scripts.measurement_rows.common import (
    Match,
    ModelMap,
    Row,
    compact,
    digest,
    gpu_slug,
    source_group,
    source_url,
)

_TABLES = toml_of(__file__)
_ENGINES = _TABLES["engines"]
_GGUF = re.compile(r"[-.](?:UD-)?(Q\d_[K\d](?:_[SML])?|IQ\d_\w+|MXFP4)(?:\.gguf)?$", re.IGNORECASE)
_MLX = re.compile(r"-(4bit|MXFP4-Q4)$")
_TAG_QUANT = "q4_k_m"  # the quantization that Ollama downloads under a plain tag
_LEAST_STEADY = 0.5  # slowest / fastest run; below it other programs disturbed the measurement
_SAME_SHAPES = _TABLES["same_shapes"]


def convert(run: Row, models: ModelMap) -> Row | None:
    """Convert one run; None without a model, a card of the catalogue, or steady runs."""
    model, quant = _model_and_quant(run["model"])
    match = _match(model, models)
    url, gpu = source_url(run["source"]), _gpu(run)
    steady = run["min_tok_s"] >= _LEAST_STEADY * run["max_tok_s"]
    if match is None or quant is None or url is None or gpu is None or not steady:
        return None
    return compact(
        {
            "kind": "throughput",
            "id": f"community-{digest(f'{url}|{_setting(run)}')}",
            "dup_group": f"community-{digest(_setting(run))}",
            "source_group": source_group(url),
            "source_url": url,
            "confidence": "medium",
            "repo": match.profile,
            "profile": match.profile,
            "profile_basis": match.basis,
            "engine": _ENGINES[run["engine"]],
            "front_end": run["engine"],
            "quant": quant,
            "quantization": quant,
            "gpu": run["gpu"],
            "gpu_slug": gpu,
            "gpu_count": run["gpu_count"],
            "generated_tokens": round(run["output_tokens"]),
            "measured": {"decode_tokens_per_second": run["tok_s"]},
        }
    )


def _setting(run: Row) -> str:
    return "|".join(str(run[name]) for name in ("gpu", "vram_gb", "gpu_count", "engine", "model"))


def _model_and_quant(text: str) -> tuple[str, str | None]:
    """Return model and quantization in the name of a file, an MLX repository or an Ollama tag."""
    name = text.rpartition("/")[2] if text.endswith(".gguf") else text
    gguf, mlx = _GGUF.search(name), _MLX.search(name)
    if gguf:
        slug = gguf[1].lower()
        return name[: gguf.start()], "mxfp4" if slug == "mxfp4" else slug
    if mlx:
        return name[: mlx.start()], "mxfp4" if "MXFP4" in mlx[1] else "mlx-4bit"
    return name, _TAG_QUANT if ":" in name else None


def _match(model: str, models: ModelMap) -> Match | None:
    """Find the model by a unique name, with or without the owner that some publishers prepend."""
    same_shapes = _SAME_SHAPES.get(model) or _SAME_SHAPES.get(model.partition("_")[2])
    if same_shapes:
        return Match(same_shapes, "same_shapes")
    return models.by_file(f"x/{model}-GGUF") or models.by_file(f"x/{model.partition('_')[2]}-GGUF")


def _gpu(run: Row) -> str | None:
    size = f" {run['ram_gb']:.0f}GB" if run["unified"] and run["gpu"].startswith("Apple") else ""
    return gpu_slug(f"{run['gpu']}{size}")
