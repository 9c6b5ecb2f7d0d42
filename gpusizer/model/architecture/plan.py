"""The layers of a model with what each caches, and what of that is not known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gpusizer.core.loose_values import object_in
from gpusizer.model.architecture.config import SLIDING_HEADS, ConfigView
from gpusizer.model.architecture.conventions import LayerKind
from gpusizer.model.architecture.layers import layer_kinds, unknown_names
from gpusizer.model.architecture.model import Attention, LayerSpec, merge_runs
from gpusizer.model.architecture.passes import passes_of, repeated
from gpusizer.model.architecture.stack import LayerStack
from gpusizer.model.architecture.states import state_of

_MOST_COMPRESSED = 2**16  # tokens of one entry, as a bound on what configurations say


@dataclass(frozen=True, slots=True)
class Heads:
    """Heads of keys and values, and the elements of one; None where nothing says it."""

    count: int | None
    key_dim: int | None
    value_dim: int | None


@dataclass(slots=True)
class Planner:
    """Builds the plan of one model's layers.

    `unknown` collects what was met and could not be read, in words; `by_tensors` is set where
    tensors said what the configuration does not.
    """

    cfg: ConfigView
    layers: int
    claimed: int | None
    heads: Heads
    stack: LayerStack
    unknown: list[str] = field(default_factory=list)
    by_tensors: bool = False

    def plan(self) -> tuple[LayerSpec, ...]:
        """The layers in the order in which a token meets their caches."""
        kinds = layer_kinds(self.cfg, self.layers, self.stack)
        self.by_tensors = any(not k.known and k.attention is Attention.RECURRENT for k in kinds)
        specs = self._specs(kinds)
        self._record(kinds, specs)
        blocks = [spec for n, spec in enumerate(specs) for _ in range(self._attentions(n))]
        passes = passes_of(self.cfg, self.layers, self.claimed)
        return merge_runs(blocks if passes.times == 1 else repeated(specs, passes))

    def _attentions(self, layer: int) -> int:
        return self.stack.attentions.get(layer, 1)

    def _record(self, kinds: Sequence[LayerKind], specs: Sequence[LayerSpec]) -> None:
        for name, count in unknown_names(kinds).items():
            self._add(count, name)
        self._add(sum(s.is_recurrent and not s.state_elements for s in specs), "recurrent state")
        pooled = self.cfg.number("index_kpool") and len(self.stack.indexed)
        self._add(pooled or 0, "pooled indexer keys")

    def _add(self, count: int, words: str) -> None:
        if count:
            self.unknown.append(f"{count} of {self.layers} layers: {words}")

    def _specs(self, kinds: Sequence[LayerKind]) -> list[LayerSpec]:
        specs: list[LayerSpec] = []
        measured: tuple[int, int] | None = None
        for layer, kind in enumerate(kinds):
            if kind.attention in (Attention.NONE, Attention.CROSS):
                specs.append(LayerSpec(kind.attention, 1))
                continue
            if kind.attention is not Attention.RECURRENT:
                # A layer without weights of its own runs the last block before it (Zamba2).
                measured = self.stack.widths.get(layer, measured)
            specs.append(self._spec(kind, layer, measured))
        return specs

    def _spec(self, kind: LayerKind, layer: int, measured: tuple[int, int] | None) -> LayerSpec:
        if kind.attention is Attention.RECURRENT:
            spec = LayerSpec(Attention.RECURRENT, 1)
        elif self.cfg.number("kv_lora_rank") is not None:
            spec = self._latent(kind, layer)
        else:
            spec = self._attention(kind, layer, measured)
        return self._with_state(spec, kind, layer) if kind.state or spec.is_recurrent else spec

    def _attention(
        self, kind: LayerKind, layer: int, measured: tuple[int, int] | None
    ) -> LayerSpec:
        heads = self._heads(kind, layer)
        key, value = measured or (
            (heads.count or 0) * (heads.key_dim or 0),
            (heads.count or 0) * (heads.value_dim or heads.key_dim or 0),
        )
        window = self._window(kind)
        spec = LayerSpec(kind.attention, 1, key, value, heads.count or 1, window)
        spec = self._compressed(spec, kind, layer)
        return spec if spec.compress_ratio else replace(spec, indexer_width=self._indexer(layer))

    def _heads(self, kind: LayerKind, layer: int) -> Heads:
        """Heads of a layer: its block's own, those of layers with a window, or everyone's."""
        own = _heads_of_block(self.cfg, layer)
        if own is not None:
            return replace(self.heads, count=own)
        if kind.attention is not Attention.SLIDING:
            return self.heads
        cfg = self.cfg
        queries = cfg.number(*SLIDING_HEADS["heads"])
        hidden = cfg.integer("hidden_size")
        dim = cfg.number(*SLIDING_HEADS["head_dim"])
        if dim is None and queries and hidden and not cfg.states("head_dim"):
            dim = hidden // queries
        return Heads(
            cfg.number(*SLIDING_HEADS["kv_heads"]) or self.heads.count,
            dim or self.heads.key_dim,
            cfg.number(*SLIDING_HEADS["value_dim"]) or dim or self.heads.value_dim,
        )

    def _window(self, kind: LayerKind) -> int | None:
        cfg = self.cfg
        if kind.window is not None:
            return kind.window
        window = cfg.integer("sliding_window") or cfg.number("attention_chunk_size")
        if kind.attention is Attention.CHUNKED:
            return cfg.number("attention_chunk_size") or window
        if kind.attention is not Attention.SLIDING:
            return None
        named = object_in(cfg.mapping("efficient_attention_config").get(kind.name))
        size = named.get("window_size")
        return size if type(size) is int and size > 0 else window

    def _compressed(self, spec: LayerSpec, kind: LayerKind, layer: int) -> LayerSpec:
        """The layer with the entries that it keeps beside its window, where it compresses any.

        One vector serves as key and value, and every few tokens share one more: DeepSeek-V4, whose
        repository gives `compress_ratios` layer by layer (`Compressor` of its modeling code) and
        transformers `compress_rates` by kind (deepseek_v4).
        """
        cfg = self.cfg
        ratios, rates = cfg.sequence("compress_ratios"), cfg.mapping("compress_rates")
        if spec.attention is not Attention.SLIDING or not (ratios or rates):
            return spec
        ratio = rates.get(kind.name)
        if ratios is not None:
            ratio = ratios[layer] if layer < len(ratios) else 0
        return replace(
            spec,
            value_width=0,
            rope_width=cfg.number("qk_rope_head_dim") or 0,
            compress_ratio=ratio if isinstance(ratio, int) and 0 < ratio <= _MOST_COMPRESSED else 0,
            indexer_width=self._indexer(layer),
        )

    def _indexer(self, layer: int) -> int:
        """Elements by which a layer's indexer finds its tokens. What an indexer pools of several
        tokens is left out, and said to be unknown: engines differ in what they keep of it.
        """
        if layer not in self.stack.indexed or self.cfg.number("index_kpool"):
            return 0
        return self.cfg.number("index_head_dim", "indexer_head_dim") or 0

    def _latent(self, kind: LayerKind, layer: int) -> LayerSpec:
        """One latent for all heads: compressed keys and values, and a rotary part (DeepSeek-V2).

        Some layers have latents of other widths (dots3), or no rotary part (Mistral Large 4).
        """
        cfg = self.cfg
        heads, rope = cfg.integer("attention_heads") or 0, cfg.number("qk_rope_head_dim") or 0
        rank = cfg.number("kv_lora_rank") or 0
        width = self.stack.latents.get(layer, rank + rope)
        return LayerSpec(
            Attention.MLA,
            1,
            key_width=width,
            window=self._window(kind) if kind.attention is Attention.SLIDING else None,
            rope_width=rope if width != rank else 0,
            head_keys=heads * ((cfg.number("qk_nope_head_dim") or 0) + rope),
            head_values=heads * (cfg.number("v_head_dim") or 0),
            indexer_width=self._indexer(layer),
        )

    def _with_state(self, spec: LayerSpec, kind: LayerKind, layer: int) -> LayerSpec:
        """The layer with its recurrent state, of 0 elements where its size is not known."""
        conv, state = state_of(self.cfg, kind, layer, self.stack) or (0, 0)
        cfg = self.cfg
        dtype = cfg.text_value("mamba_ssm_dtype") or cfg.text_value("mamba_ssm_cache_dtype")
        return replace(
            spec,
            state_elements=conv + state,
            conv_elements=conv,
            wide_state=dtype == "float32",
        )


def _heads_of_block(cfg: ConfigView, layer: int) -> int | None:
    """Nemotron NAS gives query heads per KV head block by block."""
    blocks, heads = cfg.sequence("block_configs"), cfg.integer("attention_heads")
    block = blocks[layer] if blocks and layer < len(blocks) else None
    attention = block.get("attention") if isinstance(block, dict) else None
    group = attention.get("n_heads_in_group") if isinstance(attention, dict) else None
    return max(1, heads // group) if isinstance(group, int) and group > 0 and heads else None
