"""LayerKind and LayerSource: the known facts of a layer before it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpusizer.core.loose_values import JsonObject, JsonValue, object_in
from gpusizer.model.architecture.config import SLIDING_HEADS, ConfigView
from gpusizer.model.architecture.layer_kinds import Layer
from gpusizer.model.architecture.stack import LayerStack


@dataclass(frozen=True, slots=True)
class Heads:
    """Heads of keys and values, and the elements of one head; None if not stated."""

    count: int | None
    key_dim: int | None
    value_dim: int | None

    @property
    def widths(self) -> tuple[int, int]:
        """Elements of the keys and of the values of a token."""
        count, key = self.count or 0, self.key_dim or 0
        return count * key, count * (self.value_dim or key)


@dataclass(frozen=True, slots=True)
class LayerKind:
    """One layer as a configuration describes it."""

    read: Callable[[LayerSource], Layer]  # builds the layer
    attends: bool = True  # it keeps tokens
    state: bool = False  # it keeps a recurrent state in addition
    name: str = ""  # name in the configuration, "" if it has no names
    known: bool = True  # the name is in `config.toml`
    window: int | None = None  # tokens kept, if the configuration gives them layer by layer


@dataclass(frozen=True, slots=True)
class LayerSource:
    """One layer before it is read; `measured` are the rows of its k_proj and v_proj, if stored."""

    cfg: ConfigView
    stack: LayerStack
    number: int
    kind: LayerKind
    common_heads: Heads
    measured: tuple[int, int] | None = None

    @property
    def has_latent(self) -> bool:
        """Whether the attention layers of this model keep latents."""
        return self.cfg.number("kv_lora_rank") is not None

    def heads(self) -> Heads:
        """Return the heads of its block, else those common to all layers."""
        # Nemotron NAS states query heads per KV head block by block.
        blocks, heads = self.cfg.sequence("block_configs"), self.cfg.integer("attention_heads")
        block = blocks[self.number] if blocks and self.number < len(blocks) else None
        attention = block.get("attention") if isinstance(block, dict) else None
        group = attention.get("n_heads_in_group") if isinstance(attention, dict) else None
        common = self.common_heads
        if isinstance(group, int) and group > 0 and heads:
            return Heads(max(1, heads // group), common.key_dim, common.value_dim)
        return common

    def sliding_heads(self) -> Heads:
        """Return the heads of a layer with a window, which may have heads of its own kind."""
        cfg, common, own = self.cfg, self.common_heads, self.heads()
        if own is not common:
            return own
        queries = cfg.number(*SLIDING_HEADS["heads"])
        hidden = cfg.integer("hidden_size")
        dim = cfg.number(*SLIDING_HEADS["head_dim"])
        if dim is None and queries and hidden and not cfg.states("head_dim"):
            dim = hidden // queries
        return Heads(
            cfg.number(*SLIDING_HEADS["kv_heads"]) or common.count,
            dim or common.key_dim,
            cfg.number(*SLIDING_HEADS["value_dim"]) or dim or common.value_dim,
        )

    def common_window(self) -> int | None:
        """Return the tokens that layers with a window keep, or None."""
        return self.cfg.integer("sliding_window") or self.cfg.number("attention_chunk_size")

    def window(self) -> int | None:
        """Return the tokens kept by this layer, if it has a window."""
        if self.kind.window is not None:
            return self.kind.window
        common = self.common_window()
        named = object_in(self.cfg.mapping("efficient_attention_config").get(self.kind.name))
        size = named.get("window_size")
        return size if type(size) is int and size > 0 else common

    def compression(self) -> tuple[Sequence[JsonValue] | None, JsonObject]:
        """Return the tokens that share an entry, layer by layer and by name of kind."""
        return self.cfg.sequence("compress_ratios"), self.cfg.mapping("compress_rates")

    def indexer_width(self) -> int:
        """Return the elements of its indexer's key for a token, 0 without an indexer."""
        # Keys pooled of several tokens are left out and reported as unknown: engines keep different
        # parts.
        if self.number not in self.stack.indexed or self.cfg.number("index_kpool"):
            return 0
        return self.cfg.number("index_head_dim", "indexer_head_dim") or 0
