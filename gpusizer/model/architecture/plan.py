"""The layers of a model with the cache of each, and unknown parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpusizer.model.architecture.config import ConfigView
from gpusizer.model.architecture.layer_kinds import Layer
from gpusizer.model.architecture.layer_readers import with_state
from gpusizer.model.architecture.layer_source import Heads, LayerKind, LayerSource
from gpusizer.model.architecture.layers import layer_kinds, unknown_names
from gpusizer.model.architecture.model import LayerRun, merge_runs
from gpusizer.model.architecture.passes import passes_of, repeated
from gpusizer.model.architecture.stack import LayerStack


@dataclass(slots=True)
class Planner:
    """Builder of the plan of one model's layers; `unknown` lists parts that it could not read."""

    cfg: ConfigView
    layers: int
    claimed: int | None
    heads: Heads
    stack: LayerStack
    unknown: list[str] = field(default_factory=list)
    by_tensors: bool = False

    def plan(self) -> tuple[LayerRun, ...]:
        """Return the layers in the order in which a token passes their caches."""
        kinds = layer_kinds(self.cfg, self.layers, self.stack)
        self.by_tensors = any(not (kind.known or kind.attends) for kind in kinds)
        layers = self._read(kinds)
        self._record(kinds, layers)
        blocks = [LayerRun(layer, self._attentions(n)) for n, layer in enumerate(layers)]
        passes = passes_of(self.cfg, self.layers, self.claimed)
        if passes.times > 1:
            blocks = [LayerRun(layer) for layer in repeated(layers, passes)]
        return merge_runs(blocks)

    def _attentions(self, layer: int) -> int:
        return self.stack.attentions.get(layer, 1)

    def _record(self, kinds: Sequence[LayerKind], layers: Sequence[Layer]) -> None:
        for name, count in unknown_names(kinds).items():
            self._add(count, name)
        self._add(sum(layer.misses_size for layer in layers), "recurrent state")
        pooled = self.cfg.number("index_kpool") and len(self.stack.indexed)
        self._add(pooled or 0, "pooled indexer keys")

    def _add(self, count: int, words: str) -> None:
        if count:
            self.unknown.append(f"{count} of {self.layers} layers: {words}")

    def _read(self, kinds: Sequence[LayerKind]) -> list[Layer]:
        layers: list[Layer] = []
        known: dict[Layer, Layer] = {}  # equal layers are one object and share its cached answers
        measured: tuple[int, int] | None = None
        for number, kind in enumerate(kinds):
            if kind.attends:
                # A layer without weights of its own runs the last block before it (Zamba2).
                measured = self.stack.widths.get(number, measured)
            source = LayerSource(self.cfg, self.stack, number, kind, self.heads, measured)
            layer = kind.read(source)
            layer = with_state(layer, source) if kind.state else layer
            layers.append(known.setdefault(layer, layer))
        return layers
