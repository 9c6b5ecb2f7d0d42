"""Context lengths in a model card: the native one and its extension. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from gpusizer.hub.card_statements import ModelCardStatement
from scrapers.readme.claims import decimal, sentences_of
from scrapers.readme.text import Block
from scrapers.readme.words import LAST_TEXTS, says, spans

LEAST_TOKENS, MOST_TOKENS = 512, 20_000_000
_LARGEST_POWER = 2**10
_TOKENS = re.compile(
    r"(?<![A-Za-z0-9_.,-])(?P<digits>\d{1,3}(?:[,.]\d{3})+|\d{1,8}(?:[.,]\d{1,2})?)(?![\d%])"
    r"(?:\s?(?P<factor>[kKM](?![A-Za-z0-9])|百万|万|(?:million|milhões|milhão|mil|thousand)\b))?"
    r"(?: de)?[ -]?(?P<unit>(?:个 ?)?tokens?|词)?",
)
_FACTORS = {"k": 10**3, "m": 10**6, "万": 10**4, "百万": 10**6}
_FACTORS |= {"million": 10**6, "milhões": 10**6, "milhão": 10**6, "thousand": 1000, "mil": 1000}
_ROPE_FACTOR = re.compile(r"""\bfactor["']?\s?[:=]\s?(\d{1,4}(?:\.\d{1,3})?)""")
_ROPE_NATIVE = re.compile(r"""\boriginal_max_position_embeddings["']?\s?[:=]\s?([1-9]\d{0,7})\b""")
_AROUND_CHARS = 40


@dataclass(frozen=True, slots=True)
class TokenCount:
    """A number of tokens in a text; `is_plain` if neither a unit nor thousands mark it as one."""

    start: int
    end: int
    tokens: int
    is_plain: bool


@lru_cache(LAST_TEXTS)
def tokens_in(text: str, *, plain: bool = False) -> tuple[TokenCount, ...]:
    """Return numbers that can be context lengths; with `plain` also those without any mark.

    >>> [item.tokens for item in tokens_in("128k, 32,768 tokens or 1 million-token")]
    [131072, 32768, 1000000]
    """
    counts = []
    for match in _TOKENS.finditer(text):
        count = _count(match)
        is_plain = match["factor"] is None and match["unit"] is None
        if LEAST_TOKENS <= count <= MOST_TOKENS and (plain or not is_plain):
            counts.append(TokenCount(match.start(), match.end(), count, is_plain))
    return tuple(counts)


def _count(match: re.Match[str]) -> int:
    factor = match["factor"]
    digits = match["digits"]
    if re.fullmatch(r"\d{1,3}(?:[,.]\d{3})+", digits) and factor is None:
        return int(re.sub("[,.]", "", digits))
    value = decimal(digits)
    if factor is None:
        return int(value)
    is_power = value.is_integer() and 0 < value <= _LARGEST_POWER
    if factor in ("k", "K") and is_power and not int(value) & (int(value) - 1):
        return int(value) * 1024
    return round(value * _FACTORS[factor.lower()])


def context_statements(block: Block) -> Iterator[ModelCardStatement]:
    """Yield the context lengths that a paragraph, an item or a row states, one per sentence."""
    texts = (sentence.text for sentence in sentences_of(block))
    for sentence in (text for text in texts if says("context", text)):
        starts = [start for start, _ in spans("context", sentence)]
        lengths = [
            item.tokens
            for item in tokens_in(sentence, plain=True)
            if not _is_something_else(sentence, item)
            if not item.is_plain or any(0 < item.start - start < _AROUND_CHARS for start in starts)
        ]
        if says("native_context", sentence) or says("extended_context", sentence):
            lengths.sort()
        else:
            del lengths[1:]
        if lengths:
            yield ModelCardStatement(
                *("context", block.line, block.last_line, sentence),
                context=lengths[-1],
                native_context=lengths[0] if lengths[0] != lengths[-1] else None,
            )


def _is_something_else(sentence: str, count: TokenCount) -> bool:
    # A vocabulary, advice, or the length of an answer or a test.
    around = sentence[max(count.start - _AROUND_CHARS, 0) : count.end + _AROUND_CHARS]
    return says("no_context", around) or says("no_context", sentence[: count.start])


def rope_statement(source: str, line: int, last_line: int) -> ModelCardStatement | None:
    """Return an extension of the context by YaRN, from JSON in the card; None without one."""
    factor, native = _ROPE_FACTOR.search(source), _ROPE_NATIVE.search(source)
    if factor is None or native is None or not 1 < float(factor[1]) <= 1_000:
        return None
    return ModelCardStatement(
        *("context", line, last_line, source),
        native_context=int(native[1]),
        context=round(int(native[1]) * float(factor[1])),
        yarn_factor=float(factor[1]),
    )
