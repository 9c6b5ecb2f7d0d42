"""Statements of a model card as requests in their author's terms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpusizer.core.loose_values import Arguments
from gpusizer.hub.card_statements import ModelCardStatement
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.memory.engines import ENGINES, abilities_of
from gpusizer.memory.kv_cache import ALIASES, BYTES_PER_ELEMENT
from gpusizer.model.profile import ModelProfile
from gpusizer.usecases.requests.request_fields import NATIVE_QUANT

# arguments of a command that requests call the same
_SETTINGS = (
    "tensor_parallel",
    "pipeline_parallel",
    "memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enforce_eager",
    "flash_attention",
    "draft_tokens",
)
_WIDTHS = {16.0: "bf16", 8.0: "int8", 4.0: "int4", 32.0: "fp32"}
_SIXTEEN_BITS = ("bf16", "fp16")
_NEUTRAL = re.compile(r"instruct|chat|it|base|hf|gguf|awq|gptq|int4|int8|fp8|bf16|preview|v?\d+")
_WORDS = re.compile(r"[^a-z0-9.]+")


def is_about(statement: ModelCardStatement, repo_id: str) -> bool:
    """Return whether a statement is about this repository, as far as it names a model.

    Each word of the name has to be one of the repository's, and the repository's other words may
    not name another model: "GLM-4.5" is not GLM-4.5-Air. A folder of this machine has no name.
    """
    if statement.model is None or not is_repo_id(repo_id):
        return True
    named, own = _words(statement.model), _words(repo_id)
    if named == own or not named:
        return True
    if len(named) == 1:  # a size alone, or a name in one word
        return named[0] in own
    rest = [word for word in own if word not in named]
    return set(named) <= set(own) and all(map(_NEUTRAL.fullmatch, rest))


def _words(name: str) -> list[str]:
    last = name.strip("/").rpartition("/")[2].lower()
    return [word for word in _WORDS.split(last) if word]


def quant_of(statement: ModelCardStatement, profile: ModelProfile) -> str | None:
    """Return the slug of a statement's quantization, or None if it has no name.

    The stored format of the checkpoint, and an unstated one, is "native".
    """
    named = statement.quant or _WIDTHS.get(statement.bits or 0.0)
    if named is None:
        return None if statement.is_quantized and profile.quantization is None else NATIVE_QUANT
    named = named.removeprefix("w") if named.startswith("wint") else named
    if named in _SIXTEEN_BITS and profile.quantization is None:
        return NATIVE_QUANT
    if named in _stored_names(profile):
        return NATIVE_QUANT
    return dict(abilities_of(statement.engine).bare_widths).get(named, named)


def _stored_names(profile: ModelProfile) -> Sequence[str]:
    # Authors call a stored quantization by its method or its width.
    stored = profile.quantization
    if stored is None:
        return ()
    return stored.method, f"int{stored.bits:g}", f"fp{stored.bits:g}"


def terms_of(statement: ModelCardStatement, profile: ModelProfile) -> Arguments:
    """Return request fields with the author's engine, quantization, context and arguments."""
    terms: Arguments = {"context": statement.context, "engine": statement.engine}
    command = statement.command
    if command is not None:
        terms |= {name: getattr(command, name) for name in _SETTINGS}
        cache = command.kv_dtype
        terms["kv_dtype"] = cache if cache in BYTES_PER_ELEMENT or cache in ALIASES else None
        hears_layers = "gpu_layers" in abilities_of(statement.engine).options
        terms["gpu_layers"] = command.gpu_layers if hears_layers else None
    quant = quant_of(statement, profile)
    terms["quant"] = None if quant is None else [quant]
    return {name: value for name, value in terms.items() if value is not None}


def taken_command(
    statements: Sequence[ModelCardStatement], repo_id: str
) -> ModelCardStatement | None:
    """Return the author's command to take over, or None.

    The first about this model that states how to divide it, else the first.
    """
    usable = [
        item
        for item in statements
        if item.command is not None and item.engine in ENGINES and is_about(item, repo_id)
    ]
    telling = [item for item in usable if item.count or item.context]
    return next(iter([*telling, *usable]), None)
