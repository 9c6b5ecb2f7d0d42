"""Frozen weights: their formats beside adapters, and their bytes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table, records_by
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.shape import TrainedShape, is_trained, trained_shape
from gpusizer.training.stacks import TrainingStack, find_stack

# Bytes of a frozen weight in a matrix. NF4: 4 bits and an FP32 scale for 64 values, or, quantized
# twice, 8 bits for 64 and FP32 for 256 of those (Dettmers et al. 2023, arXiv:2305.14314).
BASE_BYTES = {
    "bf16": 2.0,
    "fp32": 4.0,
    "nf4": 0.5 + 4 / 64,
    "nf4-dq": 0.5 + 1 / 64 + 4 / (64 * 256),
    "int4": 0.5 + 2.5 / 128,  # GPTQ: a 16-bit scale and a 4-bit zero point for 128
    "int8": 1.0,
}
_PLAIN = frozenset({"bf16", "fp32"})
_METHODS = {
    "nf4": "bitsandbytes",
    "nf4-dq": "bitsandbytes",
    "int8": "bitsandbytes",
    "int4": "gptq",
}
_PACKED = frozenset({"gptq", "awq", "bitsandbytes", "compressed-tensors", "hqq", "aqlm"})
_OUTSIDE = frozenset({Kind.EMBEDDING, Kind.OUTPUT})
_WIDE, _RAISED = 2.0, 4.0  # bytes of weights that are not quantized: in 16 bits, or raised to FP32

# Bytes of a parameter loaded but never trained; diffusers' training scripts cast it to 16 bits.
BESIDE_BYTES = 2.0


def base_of(profile: ModelProfile, plan: TrainingPlan, stack: TrainingStack) -> str:
    """Return the format of the frozen weights; that of the method if the plan says "auto"."""
    if plan.base == "nf4" and stack.quantizes_twice:
        return "nf4-dq"
    if plan.base != "auto":
        return plan.base
    packed = profile.quantization is not None and profile.quantization.method in _PACKED
    if plan.method == "qlora":
        return "native" if packed else stack.qlora_base
    return "fp32" if plan.precision == "fp32" else "bf16"


def is_quantized(profile: ModelProfile, base: str) -> bool:
    """Return whether a base's matrices have under 16 bits; a native base follows its files."""
    return profile.quantization is not None if base == "native" else base not in _PLAIN


def is_quantized_at_load(base: str) -> bool:
    """Return whether bitsandbytes makes this base of 16-bit files, by tensor on the GPU."""
    return _METHODS.get(base) == "bitsandbytes"


def is_raised(profile: ModelProfile, base: str, stack: TrainingStack) -> bool:
    """Return whether a quantized base's other weights, head included, are raised to FP32."""
    if not stack.upcast_rest or not is_quantized(profile, base):
        return False
    method = _method(profile, base)
    return base_habits(method).raised or method in stack.upcast_as_if


def keeps_expanded(profile: ModelProfile, base: str, stack: TrainingStack) -> bool:
    """Return whether all matrices of a layer stay expanded until its backward pass is done."""
    if not is_quantized(profile, base):
        return False
    method = _method(profile, base)
    # For methods whose measured runs are modelled by raised embedding and head it is counted there.
    return base_habits(method).keeps_expanded and method not in stack.upcast_as_if


@dataclass(frozen=True, slots=True)
class BaseHabits:
    """One row of `data/training_bases.csv`: how frameworks treat a base of this method."""

    # PEFT raises its 16-bit weights to FP32, as for every method unknown to it.
    raised: bool = True
    keeps_expanded: bool = False  # autograd keeps each matrix expanded to 16 bits


def base_habits(method: str) -> BaseHabits:
    """Return the habits of a method of quantization; the defaults if the table has no row."""
    return _table().get(method, BaseHabits())


@cache
def _table() -> dict[str, BaseHabits]:
    return records_by(DATA_DIR / "training_bases.csv", "method", BaseHabits)


def _method(profile: ModelProfile, base: str) -> str:
    stored = profile.quantization.method if profile.quantization else ""
    return _METHODS.get(base, stored)


def dynamic_bytes(profile: ModelProfile, base: str, stack: TrainingStack) -> int | None:
    """Return bytes of the dynamic 4-bit repository that a stack loads instead of a plain one.

    None if the stack loads none, or its size is not in `data/dynamic_4bit.csv`.
    """
    # The repository keeps in 16 bits what `llm_int8_skip_modules` of its configuration lists.
    loads = base == "nf4-dq" and stack.dynamic_share
    return _dynamic_sizes().get(profile.repo_id.lower()) if loads else None


@cache
def _dynamic_sizes() -> dict[str, int]:
    rows = read_table(
        DATA_DIR / "dynamic_4bit.csv",
        lambda row: (row.parts("names", "|"), row.integer("file_bytes")),
    )
    return {name.lower(): size for names, size in rows for name in names}


def frozen_bytes(
    profile: ModelProfile, shape: TrainedShape, base: str, stack: TrainingStack, outside: int
) -> float:
    """Return bytes of frozen weights, `outside` of them in embedding and head."""
    dynamic = dynamic_bytes(profile, base, stack)
    if dynamic is not None:  # less what is trained instead
        return dynamic - _WIDE * (shape.embedding + shape.output - outside)
    # Quantized bases leave all but the matrices of layers and towers in 16 bits, and the modules of
    # `TrainingStack.wide_modules`, or raise them to FP32 as PEFT's prepare_model_for_kbit_training
    # does with some (`is_raised`). Fused experts are no linear layers, which is all that
    # bitsandbytes replaces (its issue 1849).
    skipped = not quantizes_fused(profile, stack)
    inside = sum(
        m.parameters
        for m in shape.matrices
        if not (m.fused and skipped) and not any(name in m.pattern for name in stack.wide_modules)
    )
    others = shape.parameters - inside - shape.embedding - shape.output
    untrained = BESIDE_BYTES * shape.beside
    raised = _RAISED if is_raised(profile, base, stack) else _WIDE
    if base == "native":
        stored, width = _stored(profile)
        if is_quantized(profile, base):
            width = raised
        return stored + width * outside + untrained
    if base == "fp32":
        return BASE_BYTES[base] * (inside + others + outside) + untrained
    return BASE_BYTES[base] * inside + raised * (others + outside) + untrained


def rotary_bytes(
    profile: ModelProfile, shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack
) -> int:
    """Return bytes of cosines and sines that every layer has for itself."""
    known = profile.max_context or 0
    positions = min(known, max(stack.rope_tokens, plan.sequence_length))
    if not stack.rope_tokens or profile.architecture is None:
        return 0
    # In 16 bits, but FP32 in Gemma's layers (unsloth/models/gemma.py, GemmaFixedRotaryEmbedding).
    wide = profile.architecture.model_type.startswith("gemma")
    width = shape.head_width // max(1, shape.heads)
    return shape.layers * 2 * round(positions) * width * (4 if wide else 2)


def quantizes_fused(profile: ModelProfile, stack: TrainingStack) -> bool:
    """Return whether a stack brings 4 bits to experts that share a parameter."""
    arch = profile.architecture
    kind = arch.model_type if arch else ""
    return bool({"*", kind} & set(stack.quantized_experts))


def leaves_experts_wide(profile: ModelProfile, plan: TrainingPlan) -> bool:
    """Return whether a quantized base leaves experts of this model as they are."""
    stack = find_stack(plan.framework, plan.framework_version)
    base = base_of(profile, plan, stack)
    if not plan.adapted or base == "native" or not is_quantized(profile, base):
        return False
    experts = [matrix for matrix in trained_shape(profile).matrices if matrix.expert]
    fused = stack.fuses_experts or any(matrix.fused for matrix in experts)
    return bool(experts) and fused and not quantizes_fused(profile, stack)


def stored_width(profile: ModelProfile, shape: TrainedShape, base: str) -> float:
    """Return bytes of a frozen matrix's parameter; for a native base, its bytes in the files."""
    if base != "native":
        return BASE_BYTES[base]
    stored, _ = _stored(profile)
    return stored / max(1, shape.parameters - shape.embedding - shape.output)


def _stored(profile: ModelProfile) -> tuple[float, float]:
    """Return bytes of the files for the layers, and for one parameter of embedding and head."""
    # Only loaded groups: no second copy of a tied head, nothing beside the trained model.
    loaded = [g for g in profile.groups if is_trained(g, profile) and not g.duplicate]
    outside = [group for group in loaded if group.kind in _OUTSIDE]
    bytes_outside = sum(group.stored_bytes for group in outside)
    inside = sum(group.stored_bytes for group in loaded) - bytes_outside
    return inside, bytes_outside / max(1, sum(group.parameters for group in outside))


_STORED = 2  # bytes of a weight before it is quantized
# Layers in 16 bits that threads of transformers 5 may have brought to the GPU before they are
# quantized one by one (core_model_loading.py, spawn_materialize); gpt-oss-20b on an A100: five.
_READ_AHEAD_LAYERS = 4


def staging(
    profile: ModelProfile, shape: TrainedShape, plan: TrainingPlan, stack: TrainingStack
) -> Amount:
    """Return bytes of 16-bit weights on their way to 4 or 8 bits, beside finished ones."""
    # Sharded weights are quantized before they are divided, on the host (FSDP with
    # cpu_ram_efficient_loading, ZeRO-3); a dynamic repository's already are.
    base = base_of(profile, plan, stack)
    whole = plan.sharding not in ("fsdp", "zero3") and not dynamic_bytes(profile, base, stack)
    if not (plan.adapted and whole and is_quantized_at_load(base)):
        return exactly(0, Provenance.DERIVED)
    fused = quantizes_fused(profile, stack)
    # The largest tensor is the likely value.
    largest = max(
        (
            matrix.parameters / max(1, shape.layers)
            if matrix.fused and fused
            else matrix.out_width * matrix.in_width
            for matrix in shape.matrices
        ),
        default=0,
    )
    layers = _READ_AHEAD_LAYERS * shape.layer_parameters if stack.fuses_experts else largest
    return fitted(0, _STORED * largest, _STORED * max(largest, layers))
