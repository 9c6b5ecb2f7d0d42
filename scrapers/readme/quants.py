"""Names of models, quantizations and precisions, as model cards and file names write them. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from scrapers.readme.words import LAST_TEXTS

_NAMES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?P<gguf>I?Q[1-8]_(?:K(?:_[A-Z]{1,2})?|[01]|XXS|XS|S|M|NL)|TQ[12]_0|MXFP4(?:_MOE)?)"
    r"|(?P<plain>BF16|FP?16|FP?32|W?INT[2348]|FP8|FP4|NVFP4|AWQ|GPTQ|EXL[23]|HQQ|NF4|W[248](?:A(?:8|16))?"
    r"|bfloat16|float16|float32|half[- ]precision|半精度|meia precisão)"
    r"|(?P<bits>\d{1,2}(?:\.\d{1,2})?)[- ]?(?:bits?\b|bpw\b|位|比特)"
    r")(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_MODEL_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{1,96}")
_MODEL_SIZE = re.compile(r"(?:^|[-_x.])[A-Za-z]?\d+(?:\.\d+)?[BbMm](?:$|[-_.])")
# Spelling of a quantization in cards, in lower case -> its name here.
_SYNONYMS = {
    "f16": "fp16",
    "f32": "fp32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
    "half precision": "fp16",
    "half-precision": "fp16",
    "半精度": "fp16",
    "meia precisão": "fp16",
    "mxfp4_moe": "mxfp4",
}


@dataclass(frozen=True, slots=True)
class QuantMention:
    """One name in a text; `bits` instead of `slug` if only a number of bits is given."""

    start: int
    end: int
    slug: str | None
    bits: float | None = None


@lru_cache(LAST_TEXTS)
def quant_mentions(text: str) -> tuple[QuantMention, ...]:
    """Return all names in a text, in order.

    >>> [(item.slug, item.bits) for item in quant_mentions("Q4_K_M, INT8 or 4-bit")]
    [('q4_k_m', None), ('int8', None), (None, 4.0)]
    """
    mentions = []
    for match in _NAMES.finditer(text):
        bits = float(match["bits"]) if match["bits"] else None
        if bits is not None and not 1 <= bits <= 32:
            continue
        slug = None if bits is not None else _slug(match[0])
        mentions.append(QuantMention(match.start(), match.end(), slug, bits))
    return tuple(mentions)


def quant_in(name: str) -> str | None:
    """Return the last name in a file's or repository's name.

    >>> quant_in("openchat-3.5-0106.Q4_K_M.gguf"), quant_in("Qwen3-8B")
    ('q4_k_m', None)
    """
    named = [item.slug for item in quant_mentions(name[:300]) if item.slug]
    return named[-1] if named else None


def _slug(text: str) -> str:
    slug = text.lower()
    return _SYNONYMS.get(slug, slug)


@lru_cache(LAST_TEXTS)
def names_in(text: str) -> tuple[tuple[int, str], ...]:
    """Return names of models with their positions: words with a number of parameters.

    >>> names_in("Qwen2.5-7B-Instruct and the 1.3B model, 24GB, bf16")
    ((0, 'Qwen2.5-7B-Instruct'), (28, '1.3B'))
    """
    names = []
    for match in _MODEL_WORD.finditer(text):
        word = match[0].rstrip("./-")
        if _MODEL_SIZE.search(word):
            names.append((match.start(), word))
    return tuple(names)
