"""Adapters: which matrices of a model LoRA is added to, and how many parameters that makes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.training.plan import ALL_LINEAR
from gpusizer.training.shape import Matrix, TrainedShape

_EVERYTHING = frozenset({ALL_LINEAR, "all", "all linear", "all_linear"})
_ALL_WITH_EXPERTS = "all-experts"
_EXPERTS = frozenset({_ALL_WITH_EXPERTS, "experts"})
# What tools call the same projections; a fused matrix stands for its parts.
_GROUPS = {
    "attention": ("q", "k", "v", "o"),
    "qkv": ("q", "k", "v"),
    "query": ("q",),
    "key": ("k",),
    "value": ("v",),
    "projection": ("o",),
    "mlp": ("gate", "up", "down"),
    "q": ("q",),
    "k": ("k",),
    "v": ("v",),
    "o": ("o",),
    "gate": ("gate",),
    "up": ("up",),
    "down": ("down",),
    "q_proj": ("q",),
    "k_proj": ("k",),
    "v_proj": ("v",),
    "o_proj": ("o",),
    "gate_proj": ("gate",),
    "up_proj": ("up",),
    "down_proj": ("down",),
}
HEAD = frozenset({"head", "lm_head", "output"})


def targeted(shape: TrainedShape, targets: Iterable[str]) -> tuple[Matrix, ...]:
    """The matrices that adapters are added to.

    Routed experts only where "experts" or "all-experts" (everything, and them) is asked for:
    PEFT's "all-linear" finds no fused experts, and few want an adapter on each of thousands.

    Raises InvalidRequest when no matrix has such a name.
    """
    target_names = [target.strip().lower() for target in targets if target.strip()]
    names = [name for name in target_names if name not in HEAD]
    matrices = tuple(
        matrix for matrix in shape.matrices if any(_matches(matrix, name) for name in names)
    )
    if not matrices and len(names) == len(target_names):
        matrix_names = sorted({matrix.name for matrix in shape.matrices})
        raise InvalidRequest(
            field="lora_targets",
            value=", ".join(target_names)[:80],
            reason="not_one_of",
            choices=", ".join([ALL_LINEAR, *matrix_names][:20]),
        )
    return matrices


def adapters(shape: TrainedShape, targets: Iterable[str], rank: int) -> tuple[Matrix, ...]:
    """Both matrices of each adapter: rank x in, out x rank (Hu et al. 2021, arXiv:2106.09685)."""
    target_names = tuple(targets)
    matrices = list(targeted(shape, target_names))
    if any(target.strip().lower() in HEAD for target in target_names):
        matrices.append(_head(shape))
    down = (replace(matrix, out_width=rank) for matrix in matrices)
    up = (replace(matrix, in_width=rank) for matrix in matrices)
    return (*down, *up)


def _head(shape: TrainedShape) -> Matrix:
    """The output matrix, which is no matrix of the layers."""
    return Matrix(
        "lm_head.weight",
        shape.vocabulary,
        shape.hidden,
        1,
        1.0,
        attention=False,
        last=False,
        expert=False,
    )


def _matches(matrix: Matrix, target: str) -> bool:
    if matrix.tower:
        return False
    name = matrix.name.lower()
    if matrix.expert:
        return target in _EXPERTS
    if target in _EVERYTHING or target == _ALL_WITH_EXPERTS:
        return True
    if name == target:
        return True
    return bool(set(_GROUPS.get(target, ())) & _roles(matrix, name))


def _roles(matrix: Matrix, name: str) -> set[str]:
    """Which of q, k, v, o, gate, up and down a matrix is or contains."""
    if not matrix.attention:
        if matrix.last:
            return {"down"}
        return {"gate"} if "gate" in name and "up" not in name else {"gate", "up"}
    if matrix.last:
        return {"o"}
    single = {"q": "q", "k": "k", "v": "v"}.get(name[:1])
    fused = any(word in name for word in ("qkv", "query_key_value", "c_attn", "wqkv", "pack"))
    return {"q", "k", "v"} if fused or single is None else {single}
