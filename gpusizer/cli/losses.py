"""What a quantization loses, for a terminal."""

from __future__ import annotations

from gpusizer.fit.losses import quality_at
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.text import say_note


def loss_word(estimate: MemoryEstimate) -> str:
    """Write the word alone: "small loss"."""
    return say_note(quality_at(estimate).label)


def loss_text(estimate: MemoryEstimate) -> str:
    """Write the word with the band of the increase of perplexity: "small loss, 1-4 %"."""
    quality = quality_at(estimate)
    label, percent = say_note(quality.label), quality.percent
    return f"{label}, {percent.low:g}-{percent.high:g} %" if percent else label


def loss_lines(estimate: MemoryEstimate) -> list[str]:
    """Write what the quantization of a GPU that was asked for loses, and its caveats."""
    quality = quality_at(estimate)
    lines = [f"  {say_note(quality.label)}: {say_note(quality.detail())}"]
    return lines + [f"  ! {say_note(note)}" for note in quality.caveats]
