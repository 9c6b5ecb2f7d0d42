"""The quantization of a stored checkpoint, as a row of the table if it has one."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.core.dtypes import nominal_bits
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.quants.gguf import RELEASED_BLOCKS
from gpusizer.memory.quants.table import Quant, all_quants, find_quant
from gpusizer.model.profile import ModelProfile
from gpusizer.model.quantization import Grouped

_PLAIN = {"F32": "fp32", "F64": "fp32", "F8_E4M3": "fp8", "F8_E5M2": "fp8"}
_BY_METHOD_AND_BITS = {
    ("fp8", 8): "fp8",
    ("bitsandbytes", 8): "bnb-int8",
    ("mxfp4", 4): "mxfp4",
    ("nvfp4", 4): "nvfp4",
}
_REPACKED = "mxfp4_moe"  # llama.cpp's converter keeps gpt-oss's experts (conversion/gpt_oss.py)
_FAMILIES = {
    Grouped.GPTQ: "gptq-int{bits}-g{group}",
    Grouped.AWQ: "awq-int{bits}-g{group}",
    Grouped.MLX: "mlx-{bits}bit",
    "exl2": "exl2-{bits}.0",
    "exl3": "exl3-{bits}.0",
}


def native_quant(profile: ModelProfile) -> Quant:
    """Return the quantization of the stored checkpoint; a new row for an unlisted scheme."""
    # Only its slug, engines and place in the order matter: a native checkpoint's bytes are read
    # from its files, not computed from the layout.
    slugs = {quant.slug for quant in all_quants()}
    slug = _known_slug(profile)
    if slug in slugs:
        quant = find_quant(slug)
        if slug == "mxfp4" and any(g.pattern.endswith(RELEASED_BLOCKS) for g in profile.groups):
            return replace(quant, engines=(*quant.engines, *find_quant(_REPACKED).engines))
        return quant
    stored = profile.quantization
    bits = (stored.bits if stored else None) or nominal_bits(profile.native_dtype)
    method = stored.method if stored else profile.native_dtype.lower()
    engines = tuple(slug for slug, e in ENGINES.items() if e.abilities.reads_method(method))
    return _unlisted(f"{method}-{bits}bit", f"{method} {bits}-bit", bits, engines)


def native_under(engine: str | None, profile: ModelProfile) -> Quant:
    """Return the quantization that an engine's users call the native one."""
    native = native_quant(profile)
    is_gguf = engine is not None and ENGINES[engine].abilities.reads == "gguf"
    # For gpt-oss in GGUF, the files that the converter's authors publish: experts as stored and the
    # rest in Q8_0.
    repacked = find_quant(_REPACKED)
    return repacked if is_gguf and native.slug == "mxfp4" and engine in native.engines else native


def _unlisted(slug: str, name: str, bits: float, engines: tuple[str, ...]) -> Quant:
    # At the place of the row nearest in width.
    nearest = min(all_quants(), key=lambda quant: (abs(quant.bits - bits), quant.order))
    return replace(
        nearest, slug=slug, name=name, bits=bits, engines=engines, needs="", recommended=True
    )


def _known_slug(profile: ModelProfile) -> str:
    stored = profile.quantization
    if stored is None:
        return _PLAIN.get(profile.native_dtype, "bf16")
    if stored.method in _FAMILIES:
        return _FAMILIES[stored.method].format(bits=stored.bits, group=stored.group_size)
    if stored.method == "bitsandbytes" and stored.bits == 4:
        nested = any(group.pattern.endswith("nested_absmax") for group in profile.groups)
        return "bnb-nf4-dq" if nested else "bnb-nf4"
    if stored.method in ("compressed-tensors", "modelopt") and stored.bits == 8:
        return "int8" if profile.native_dtype == "I8" else "fp8"
    return _BY_METHOD_AND_BITS.get((stored.method, stored.bits or 0), "")
