"""Layers that a token passes several times, with a cache for each pass."""

# Conventions: `total_ut_steps` (Ouro; vllm/model_executor/models/ouro.py), `loop_num`
# (IQuest-Coder-Loop; mlx_lm/models/iquestloopcoder.py `make_cache`: later passes see a window),
# `num_loops` (mlx_lm/models/nanbeige.py), `n_recurrent_loops` (transformers dory),
# `loop_num_passes` (transformers inkling2_loop), cycles (transformers hrm_text).

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusizer.model.architecture.config import ConfigView
from gpusizer.model.architecture.layer_kinds import Layer

_MOST_PASSES = 64


@dataclass(frozen=True, slots=True)
class Passes:
    """Passes of layers `first` to `end`; later passes see `window` tokens, None for all."""

    times: int = 1
    first: int = 0
    end: int = 0
    window: int | None = None


def passes_of(cfg: ConfigView, layers: int, claimed: int | None) -> Passes:
    """Return the passes by the convention of the configuration; one pass without any."""
    found = _whole(cfg, layers) or _range(cfg, layers) or _section(cfg, layers, claimed)
    found = found or _counted(cfg, layers, claimed)
    if found is None or not 1 < found.times <= _MOST_PASSES:
        return Passes()
    return found if 0 <= found.first < found.end <= layers else Passes()


def _whole(cfg: ConfigView, layers: int) -> Passes | None:
    times = cfg.number("total_ut_steps", "num_loops", "loop_num")
    return Passes(times, 0, layers, cfg.number("loop_window_size")) if times else None


def _range(cfg: ConfigView, layers: int) -> Passes | None:
    times = cfg.number("loop_num_passes")
    first = cfg.number("loop_layer_index_start") or 0
    return Passes(times, first, cfg.number("loop_layer_index_end") or layers) if times else None


def _section(cfg: ConfigView, layers: int, claimed: int | None) -> Passes | None:
    # Layers between those of the input and of the output; "last_loop" keeps one cache of them. If
    # the configuration counts two blocks for each stored layer, these numbers do, too.
    times = cfg.number("n_recurrent_loops")
    if times is None or cfg.text_value("recurrent_kv_cache_mode") == "last_loop":
        return None
    blocks = 2 if claimed == 2 * layers else 1
    first, last, inner = (
        (cfg.number(key) or 0) // blocks
        for key in ("n_input_layers", "n_output_layers", "n_recurrent_layers")
    )
    return Passes(times, first, first + (inner or layers - first - last))


def _counted(cfg: ConfigView, layers: int, claimed: int | None) -> Passes | None:
    # passes that the configuration counts as layers, of stacks that are stored once
    counts = claimed and cfg.number("num_layers_per_stack")
    return Passes((claimed or 0) // layers, 0, layers) if counts else None


def repeated(layers: Sequence[Layer], passes: Passes) -> list[Layer]:
    """Return the layers in the order in which a token passes their caches."""
    window = passes.window
    again = [
        layer if window is None else layer.seen_within(window)
        for layer in layers[passes.first : passes.end]
    ]
    return [*layers[: passes.end], *again * (passes.times - 1), *layers[passes.end :]]
