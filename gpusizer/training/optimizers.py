"""States that optimizers keep for each trained parameter, by `optimizers.toml`."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.tables import toml_of
from gpusizer.training.shape import Matrix


@dataclass(frozen=True, slots=True)
class Optimizer:
    """One rule of updating."""

    slug: str  # name in requests
    states: int  # values kept for each parameter
    source: str  # where the layout is documented
    # Bytes of one, None for the width that the precision gives them.
    state_bytes: float | None = None
    # States are in memory that the driver moves to the host when the card is full, and that PyTorch
    # does not count.
    paged: bool = False
    # States of matrices alone; everything else is trained by AdamW (Muon).
    matrices_only: bool = False
    factored: bool = False  # one row and one column of means for a matrix (Adafactor)
    low_rank: bool = False  # only a projection of a matrix to a few rows (GaLore)


_TABLES = toml_of(__file__)

OPTIMIZERS: dict[str, Optimizer] = {
    slug: Optimizer(slug, **facts) for slug, facts in _TABLES["optimizers"].items()
}
_ALIASES = {name: slug for slug, names in _TABLES["names"].items() for name in names}


def find_optimizer(text: str) -> Optimizer:
    """Return the optimizer of a name in trainers' spellings. Raise InvalidRequest."""
    name = text.strip().lower().replace("-", "_").replace(" ", "_")
    optimizer = OPTIMIZERS.get(_ALIASES.get(name, name)) or _by_words(name)
    if optimizer is None:
        raise InvalidRequest(
            field="optimizer", value=text[:40], reason="not_one_of", choices=", ".join(OPTIMIZERS)
        )
    return optimizer


def _by_words(name: str) -> Optimizer | None:
    # Longer names contain one, such as "bitsandbytes_paged_adamw_8bit".
    narrow = next((bits for bits in ("8bit", "4bit") if bits in name.replace("_bit", "bit")), "")
    paged = "paged_" if "paged" in name else ""
    for family in ("galore_adamw", "muon", "adafactor", "lion", "sgd", "adam"):
        if family.partition("_")[0] not in name:
            continue
        family = "adamw" if family == "adam" else family
        for slug in (f"{paged}{family}_{narrow}", f"{family}_{narrow}", f"{paged}{family}", family):
            if slug in OPTIMIZERS:
                return OPTIMIZERS[slug]
    return None


def state_bytes_of_matrix(optimizer: Optimizer, matrix: Matrix, width: float, rank: int) -> float:
    """Return bytes of states of all copies of a matrix; `width` is an ordinary state's bytes."""
    each = optimizer.state_bytes or width
    if optimizer.factored:
        return each * (matrix.out_width + matrix.in_width) * matrix.copies
    if optimizer.low_rank:
        short, long = sorted((matrix.out_width, matrix.in_width))
        used = min(rank, short)
        return (optimizer.states * each * used * long + width * used * short) * matrix.copies
    return optimizer.states * each * matrix.parameters


def state_bytes_of_adapter(optimizer: Optimizer, matrix: Matrix, width: float) -> float:
    """Return bytes of states of an adapter's matrix, which GaLore does not project again."""
    # Adafactor's means are in FP32, one for each row and column of every tensor with two dimensions
    # (transformers, optimization.py, Adafactor: exp_avg_sq_row and exp_avg_sq_col).
    if optimizer.factored:
        return state_bytes_of_matrix(optimizer, matrix, width, 0)
    return optimizer.states * (optimizer.state_bytes or width) * matrix.parameters


def state_bytes_of_table(
    optimizer: Optimizer, parameters: int, columns: int, width: float
) -> float:
    """Return bytes of states of embedding and head, matrices with `columns` columns."""
    # Adafactor factors every tensor of two dimensions; Muon and GaLore leave these to AdamW.
    if optimizer.factored:
        rows = parameters / max(1, columns)
        return (optimizer.state_bytes or width) * (rows + columns if rows else 0.0)
    return state_bytes_of_rest(optimizer, parameters, width)


def state_bytes_of_rest(optimizer: Optimizer, parameters: int, width: float) -> float:
    """Return bytes of states of parameters outside matrices, such as norms and biases."""
    if optimizer.matrices_only:
        return 2 * width * parameters
    return optimizer.states * (optimizer.state_bytes or width) * parameters
