"""TrainingStack: habits of a training framework that decide which copies exist at the peak."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table


@dataclass(frozen=True, slots=True)
class TrainingStack:
    """One row of `data/training_stacks.csv`.

    Attributes:
        family: slug of today's row, of a row about older releases; "" of today's rows.
        until: the first release, as a version and as a date, of which a later row speaks.
        eager_norms: an RMSNorm keeps its input in FP32 for the backward pass.
        repeat_keys: keys and values are copied to every head before attention.
        adapter_bytes: of an adapter's parameter; FP32 ones also cast their input.
        adapter_dropout: every adapter keeps a copy of its input of its own, behind a dropout.
        adapter_kernels: blocks with adapters have a backward pass of their own, which shares
            inputs in 16 bits and computes activation functions again.
        frozen_inputs: the product inside an MLP is kept although the next matrix is frozen.
        quantized_input_bytes: of a copy that each 4-bit matrix keeps of its input; 0 for none.
        unties: a head tied to the embedding is a matrix of its own.
        upcast_rest: weights outside a quantized base are raised to FP32, of the methods of which
            `training_bases.csv` says so.
        upcast_as_if: other methods whose measured runs hold as much as if they were raised.
        qlora_base: how QLoRA holds the frozen weights.
        quantizes_twice: its NF4 always has quantized scales.
        dynamic_share: by how much a dynamic 4-bit repository, loaded in a plain one's place, is
            larger at most (unsloth/Qwen3-14B-unsloth-bnb-4bit among others).
        fuses_experts: all experts of a layer are one parameter, also where files have them apart.
        fused_rank: by how much names in a list of targets multiply the rank of adapters on fused
            experts; 0 where they do not reach them.
        names_stored_experts: they also reach experts that files have in one parameter.
        quantized_experts: kinds of models whose fused experts a 4-bit base reaches, "*" for all.
        wide_modules: parts of names of modules that a base quantized at load leaves in 16 bits.
        logits_bytes: peak per token and vocabulary entry, from logits to their gradient.
        compiled_logits_bytes, quantized_logits_bytes: the same under torch.compile, and with a
            quantized base.
        elastic_gib: FP32 logits of one chunk of its loss, GiB; fewer where less memory is free, and
            `inf` where only that is their limit.
        whole_logits_tokens: steps of so many tokens at most do not cut their logits.
        head_logits_bytes: of a logit while the head's gradient is computed, under a loss of its own
            in chunks, whose place no fused one takes; 0 for none.
        expandable_segments: it switches on PyTorch's segments that grow, so that lengths that vary
            leave no blocks behind.
        keeps_gradients: they stay from step to step, filled with zeros.
        offloads_activations: checkpoints are kept in system memory.
        foreach: the update works on all parameters at once, with one temporary of each.
        reduces_in_fp32: its FSDP adds up gradients of a layer in FP32.
        keeps_outputs: the last stage of a pipeline keeps the logits of every micro-batch.
        splits_by_stages: a pipeline takes its batch in as many parts as it has stages, not sequence
            by sequence.
        wraps_replicas: undivided replicas are FSDP's, too.
        fsdp2: its FSDP needs no other streams for what it frees.
        no_sync: its FSDP adds up whole gradients over an accumulation, and divides their sum; None
            where that is not known.
        no_sync_source: the address that says so, "" where it is not known.
        shares_rollout_weights: its rollout engine and its training hold one set of weights.
        rope_tokens: positions of which every layer has cosines and sines of its own, `inf` for all
            that a model knows.
        context_gib: of CUDA with PyTorch's kernels, outside the allocator, GiB.
        reserve: share that the caching allocator holds beyond what tensors use.
        source: where this is known from.
    """

    slug: str
    names: tuple[str, ...]
    family: str
    until: tuple[Release, ...]
    eager_norms: bool
    repeat_keys: bool
    adapter_bytes: int
    adapter_dropout: bool
    adapter_kernels: bool
    frozen_inputs: bool
    quantized_input_bytes: int
    unties: bool
    upcast_rest: bool
    upcast_as_if: tuple[str, ...]
    qlora_base: str
    quantizes_twice: bool
    dynamic_share: float
    fuses_experts: bool
    fused_rank: int
    names_stored_experts: bool
    quantized_experts: tuple[str, ...]
    wide_modules: tuple[str, ...]
    logits_bytes: float
    compiled_logits_bytes: float
    quantized_logits_bytes: float
    elastic_gib: float
    whole_logits_tokens: int
    head_logits_bytes: float
    expandable_segments: bool
    keeps_gradients: bool
    offloads_activations: bool
    foreach: bool
    reduces_in_fp32: bool
    keeps_outputs: bool
    splits_by_stages: bool
    wraps_replicas: bool
    fsdp2: bool
    no_sync: bool | None
    no_sync_source: str
    shares_rollout_weights: bool
    rope_tokens: float
    context_gib: float
    reserve: float
    source: str

    @property
    def own_chunks(self) -> bool:
        """Whether its own loss goes in chunks."""
        return self.head_logits_bytes > 0


@cache
def stacks() -> dict[str, TrainingStack]:
    """Every stack by its slug, in the table's order."""
    return {stack.slug: stack for stack in read_table(DATA_DIR / "training_stacks.csv", _stack)}


def find_stack(text: str, version: str = "") -> TrainingStack:
    """The stack of this name as it was at a version or a date; without one, as it is today.

    A month is its last day, as its releases share its name. A library of a family that counts its
    own versions, such as TRL, needs a date or the version of what the family is called by. Raises
    InvalidRequest.
    """
    stack = _named(text)
    if not version:
        return stack
    release = _last_day(read_release(version))
    family = [s for s in stacks().values() if s.family == stack.slug]
    majors = [end[0] for row in family for end in row.until if not is_date(end)]
    if text.strip().lower() != stack.slug and release[0] < min(majors, default=0):
        raise InvalidRequest(
            field=FIELD, value=version[:40], reason="date_needed", framework=stack.slug
        )
    older = [row for row in family if is_before(release, row.until)]
    return min(older, key=lambda row: row.until, default=stack)


def _named(text: str) -> TrainingStack:
    """The stack with this slug, else the first with a name that the text begins with or contains.

    Raises InvalidRequest.
    """
    name = text.strip().lower()
    by_slug = stacks()
    if name in by_slug:
        return by_slug[name]
    for matches in (name.startswith, name.__contains__):
        for stack in by_slug.values():
            if any(matches(spelling) for spelling in stack.names):
                return stack
    raise InvalidRequest(
        field="framework", value=text[:40], reason="not_one_of", choices=", ".join(by_slug)
    )


def _stack(row: TableRow) -> TrainingStack:
    return row.record(
        TrainingStack,
        until=tuple(map(read_release, row.parts("until", "|"))),
        no_sync=None if row.text("no_sync") == "unknown" else row.flag("no_sync"),
    )


Release: TypeAlias = tuple[int, ...]
"""Numbers of a version, or year, month and day."""

FIELD = "framework_version"
_FIRST_YEAR = 2000  # a version that begins with as much is a date, as Unsloth's are
_LAST_MONTH, _LAST_DAY = 12, 31
_NUMBERS = re.compile(r"\d{1,4}(?:[.-]\d{1,4}){0,3}")


def read_release(text: str) -> Release:
    """The release in "4.46.2", "v0.5", "2025-01" or "2025.8.3"; a year alone is its last month.

    Raises InvalidRequest where the text has no number.
    """
    match = _NUMBERS.search(text)
    if match is None:
        raise InvalidRequest(field=FIELD, value=text[:40], reason="not_a_version")
    release = tuple(int(number) for number in re.split(r"[.-]", match[0]))
    return (*release, _LAST_MONTH) if is_date(release) and len(release) == 1 else release


def _last_day(release: Release) -> Release:
    """The last day of a month; other releases as they are."""
    return (*release, _LAST_DAY) if is_date(release) and len(release) == 2 else release


def is_date(release: Release) -> bool:
    """Whether it is a date rather than a version."""
    return release[0] >= _FIRST_YEAR


def is_before(release: Release, ends: tuple[Release, ...]) -> bool:
    """Whether a release came before the one of `ends` that is a version or a date as it is."""
    return any(release < end for end in ends if is_date(end) == is_date(release))
