"""Adapters: the matrices that LoRA is added to, and the parameters of its own matrices."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.training.plan import ALL_LINEAR
from gpusizer.training.shape import Matrix, TrainedShape

_EVERYTHING = frozenset({ALL_LINEAR, "all", "all linear", "all_linear"})
_ALL_WITH_EXPERTS = "all-experts"
_EXPERTS = frozenset({_ALL_WITH_EXPERTS, "experts"})
# Names of projections in tools, for models with other names; a fused matrix means its parts.
_ROLES = ("q", "k", "v", "o", "gate", "up", "down")
_GROUPS = {
    "attention": _ROLES[:4],
    "qkv": _ROLES[:3],
    "query": ("q",),
    "key": ("k",),
    "value": ("v",),
    "projection": ("o",),
    "mlp": _ROLES[4:],
    **{name: (role,) for role in _ROLES for name in (role, f"{role}_proj")},
}
_WORDS = frozenset({"attention", "qkv", "query", "key", "value", "projection", "mlp"})
_FUSED_PARTS = {"gate_up_proj": frozenset({"gate_proj", "up_proj", "gate_up_proj"})}
_TOWER_BLOCK = re.compile(r"(^|\.)(layers?|blocks?|resblocks)\.\{\}")
HEAD = frozenset({"head", "lm_head", "output"})


def targeted(
    shape: TrainedShape, targets: Iterable[str], on_towers: bool | None = None
) -> tuple[Matrix, ...]:
    """Return the matrices that adapters are added to.

    "all-linear" finds every linear layer outside towers, experts among them that are modules one by
    one; "all-experts" also fused ones. `on_towers`: the linear layers of towers' blocks have
    adapters, or have none, whatever their names. Raise InvalidRequest when no matrix has such a
    name.
    """
    # Names are compared with the whole last part of a module's name, as PEFT does (tuners_utils.py,
    # check_target_module_exists): "q_proj" is not "in_proj_qkv", and towers have such modules too;
    # missing names are passed over. If a model has none of the names, they are read as words for
    # its own.
    target_names = [target.strip().lower() for target in targets if target.strip()]
    names = [name for name in target_names if name not in HEAD]
    chosen = {matrix for matrix in shape.matrices if any(_named(matrix, name) for name in names)}
    if not chosen:
        chosen = {
            matrix for matrix in shape.matrices if any(_meant(matrix, name) for name in names)
        }
    if on_towers is not None:
        chosen = {matrix for matrix in chosen if not matrix.tower}
        towers = (matrix for matrix in shape.matrices if on_towers and matrix.tower)
        chosen |= {matrix for matrix in towers if _TOWER_BLOCK.search(matrix.pattern)}
    matrices = tuple(matrix for matrix in shape.matrices if matrix in chosen)
    if not matrices and len(names) == len(target_names):
        matrix_names = sorted({matrix.name for matrix in shape.matrices})
        raise InvalidRequest(
            field="lora_targets",
            value=", ".join(target_names)[:80],
            reason="not_one_of",
            choices=", ".join([ALL_LINEAR, *matrix_names][:20]),
        )
    return matrices


def adapters(
    shape: TrainedShape, targets: Iterable[str], rank: int, on_towers: bool | None = None
) -> tuple[Matrix, ...]:
    """Return both matrices of each adapter: rank x in, out x rank."""
    # Hu et al. 2021, arXiv:2106.09685
    target_names = tuple(targets)
    matrices = list(targeted(shape, target_names, on_towers))
    if any(target.strip().lower() in HEAD for target in target_names):
        matrices.append(_head(shape))
    pairs = [_pair(matrix, rank) for matrix in matrices]
    return (*(down for down, _ in pairs), *(up for _, up in pairs))


def _pair(matrix: Matrix, rank: int) -> tuple[Matrix, Matrix]:
    # Experts' gates and first matrices are one parameter once they are fused, and share an adapter:
    # of twice the rank where PEFT converts a list of names (transformers_weight_conversion.py,
    # _convert_peft_config_moe), of the same rank in Unsloth (get_moe_target_parameters).
    down, up = rank, rank
    if matrix.fused and matrix.fused_rank and not matrix.last and "gate_up" not in matrix.name:
        down, up = max(1, rank * matrix.fused_rank // 2), rank * matrix.fused_rank
    return replace(matrix, out_width=down), replace(matrix, in_width=up)


def _head(shape: TrainedShape) -> Matrix:
    # The output matrix is no matrix of the layers.
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


def _named(matrix: Matrix, target: str) -> bool:
    if matrix.expert and target in _EXPERTS:
        return True
    if target in _EVERYTHING or target == _ALL_WITH_EXPERTS:
        return not matrix.tower and not matrix.fused
    name = matrix.name.lower()
    if matrix.fused:
        parts = _FUSED_PARTS.get(name, {name})
        return bool(matrix.fused_rank) and target in parts
    if name == target:
        return True
    return target in _WORDS and _meant(matrix, target)


def _meant(matrix: Matrix, target: str) -> bool:
    # A name has the meaning that it has in other models.
    if matrix.tower or matrix.expert:
        return False
    return bool(set(_GROUPS.get(target, ())) & _roles(matrix, matrix.name.lower()))


def _roles(matrix: Matrix, name: str) -> set[str]:
    if not matrix.attention:
        if matrix.last:
            return {"down"}
        return {"gate"} if "gate" in name and "up" not in name else {"gate", "up"}
    if matrix.last:
        return {"o"}
    single = {"q": "q", "k": "k", "v": "v"}.get(name[:1])
    fused = any(word in name for word in ("qkv", "query_key_value", "c_attn", "wqkv", "pack"))
    return {"q", "k", "v"} if fused or single is None else {single}
