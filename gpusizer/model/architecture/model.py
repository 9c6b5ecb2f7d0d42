"""Architecture: the facts of a language model that its memory and speed depend on."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Literal

from gpusizer.model.architecture.layer_kinds import Layer
from gpusizer.model.architecture.rotary import Rotary

Confidence = Literal["known", "by_tensors", "unknown_parts"]


@dataclass(frozen=True, slots=True)
class LayerRun:
    """Equal layers, `count` of them, that a token passes one after another."""

    layer: Layer
    count: int = 1


@dataclass(frozen=True, slots=True)
class Architecture:
    """The language model. Facts that neither configuration nor tensors state are None."""

    model_type: str
    layers: int
    hidden_size: int | None
    intermediate_size: int | None
    vocab_size: int | None
    # `attention_heads`, `kv_heads`, `head_dim`: of ordinary attention layers
    attention_heads: int | None
    kv_heads: int | None
    head_dim: int | None
    max_context: int | None  # longest sequence the configuration allows, in tokens
    # `experts`, `experts_per_token`: routed experts per MoE layer, and those that each token uses
    experts: int | None
    experts_per_token: int | None
    tied_embeddings: bool
    generates: bool  # the model produces text token by token and needs a KV cache
    # A plan may have hundreds of runs, and caches compute the hash often.
    # caches in the order of a token's passes, equal neighbours merged: one for each layer, several
    # if a layer attends or runs several times
    layer_plan: tuple[LayerRun, ...] = field(hash=False)
    expert_width: int | None = None  # inner width of one routed expert
    rotary: tuple[Rotary, ...] = ()
    # values read off tensor shapes because the configuration omits them
    recovered: tuple[str, ...] = ()
    # values taken from the model class's defaults (`data/class_defaults.json`)
    defaulted: tuple[str, ...] = ()
    # layers by the configuration, if the tensors hold fewer, which count
    claimed_layers: int | None = None
    # input of a model that generates nothing: text, or "other" (images, sound) alone
    reads: Literal["text", "other"] = "text"
    # unknown facts that memory and speed depend on: "12 of 48 layers: indexed_attention"
    unknown_parts: tuple[str, ...] = ()

    @property
    def confidence(self) -> Confidence:
        """Source of these facts: configuration, partly tensor shapes, or incomplete."""
        if self.unknown_parts:
            return "unknown_parts"
        return "by_tensors" if self.recovered or self.claimed_layers is not None else "known"

    @property
    def growing_elements_per_token(self) -> int:
        """Cache elements each new token adds over all layers, before any window is full."""
        return sum(run.count * run.layer.elements_per_token for run in self.layer_plan)

    def with_layers(self, change: Callable[[Layer], Layer]) -> Architecture:
        """Return the model with `change` applied to its layers, once for all that are equal."""
        changed = {layer: change(layer) for layer in {run.layer for run in self.layer_plan}}
        if all(layer == new for layer, new in changed.items()):
            return self
        plan = tuple(LayerRun(changed[run.layer], run.count) for run in self.layer_plan)
        return replace(self, layer_plan=plan)


def kinds_between(plan: Sequence[LayerRun], edges: Sequence[int]) -> list[list[LayerRun]]:
    """Return the layers from each edge to the next by kind, in order of first appearance."""
    # Layers that differ only in position are one run: a stretch of layers costs a sum over few
    # kinds.
    ends = list(accumulate(run.count for run in plan))
    stretches = []
    for first, last in pairwise(edges):
        counts: Counter[Layer] = Counter()
        number = bisect_right(ends, first)
        while first < last and number < len(plan):
            stop = min(ends[number], last)
            counts[plan[number].layer] += stop - first
            first, number = stop, number + 1
        stretches.append([LayerRun(layer, count) for layer, count in counts.items()])
    return stretches


def merge_runs(runs: Iterable[LayerRun]) -> tuple[LayerRun, ...]:
    """Return the runs in order, with equal neighbours merged."""
    merged: list[LayerRun] = []
    for run in runs:
        if merged and merged[-1].layer == run.layer:
            run = LayerRun(run.layer, run.count + merged.pop().count)
        merged.append(run)
    return tuple(merged)
