"""The loss of a quantization in a reader's words: a word, a band in percent, a sentence."""

from __future__ import annotations

from markupsafe import Markup

from gpusizer.fit.losses import quality_at
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.quality.quality import Quality
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words


def loss_label(quality: Quality, words: Words) -> str:
    """Write the word: "small loss"."""
    return words.note(quality.label)


def loss_text(quality: Quality, words: Words) -> str:
    """Write the word with the band of the increase of perplexity: "small loss (1–4 %)"."""
    band = _band(quality, words)
    return f"{loss_label(quality, words)} ({band})" if band else loss_label(quality, words)


def configuration(estimate: MemoryEstimate, words: Words) -> str:
    """Write a quantization, what it loses, and the engine that runs it."""
    loss = loss_label(quality_at(estimate), words)
    return f"{estimate.quant.name} · {loss} · {estimate.engine.name}"


def loss_sentence(quality: Quality, words: Words) -> str:
    """Write the word, the number and where it is from."""
    label = loss_label(quality, words)
    return f"{label[:1].upper()}{label[1:]}: {words.note(quality.detail())}"


def loss_cell(quality: Quality, words: Words) -> Markup:
    """Write the word with its band below it; the sentence appears when it is pointed at."""
    return piece("loss_cell", words, quality, _band(quality, words), loss_sentence(quality, words))


def _band(quality: Quality, words: Words) -> str:
    """Write the band in percent, "" where nothing is lost by definition or no text is written."""
    percent = quality.percent
    if percent is None:
        return ""
    return f"{words.number(percent.low, 'g')}–{words.number(percent.high, 'g')} %"
