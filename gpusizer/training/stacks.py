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
    """One row of `data/training_stacks.csv`."""

    slug: str
    names: tuple[str, ...]
    family: str  # slug of today's row, in a row about older releases; "" in today's rows
    until: tuple[Release, ...]  # the first release of a later row, as a version and as a date
    eager_norms: bool  # an RMSNorm keeps its input in FP32 for the backward pass
    repeat_keys: bool  # keys and values are copied to every head before attention
    adapter_bytes: int  # bytes of an adapter's parameter; FP32 ones also cast their input
    adapter_dropout: bool  # every adapter keeps a copy of its input of its own, behind a dropout
    # Blocks with adapters have a backward pass of their own, which shares inputs in 16 bits and
    # computes activation functions again.
    adapter_kernels: bool
    frozen_inputs: bool  # the product inside an MLP is kept although the next matrix is frozen
    quantized_input_bytes: int  # bytes of each 4-bit matrix's copy of an input value; 0 for none
    unties: bool  # a head tied to the embedding is a matrix of its own
    # Weights outside a quantized base are raised to FP32, for the methods that `training_bases.csv`
    # lists.
    upcast_rest: bool
    # Other methods whose measured runs hold as much as if they were raised.
    upcast_as_if: tuple[str, ...]
    qlora_base: str  # format of frozen weights under QLoRA
    quantizes_twice: bool  # its NF4 always has quantized scales
    # Most growth by a dynamic 4-bit repository, loaded in a plain one's place
    # (unsloth/Qwen3-14B-unsloth-bnb-4bit among others).
    dynamic_share: float
    fuses_experts: bool  # all experts of a layer are one parameter, even if files have them apart
    # Factor of a listed name on the rank of adapters on fused experts; 0 if names do not reach
    # them.
    fused_rank: int
    names_stored_experts: bool  # names also reach experts that files have in one parameter
    # Kinds of models whose fused experts a 4-bit base reaches, "*" for all.
    quantized_experts: tuple[str, ...]
    # Parts of names of modules that a base quantized at load leaves in 16 bits.
    wide_modules: tuple[str, ...]
    logits_bytes: float  # peak per token and vocabulary entry, from logits to their gradient
    # compiled_logits_bytes, quantized_logits_bytes: `logits_bytes` under torch.compile, and with a
    # quantized base.
    compiled_logits_bytes: float
    quantized_logits_bytes: float
    # FP32 logits of one chunk of its loss, GiB; fewer if less memory is free, and `inf` if only
    # that is their limit.
    elastic_gib: float
    whole_logits_tokens: int  # steps up to this length do not cut their logits
    # Bytes of a logit while the head's gradient is computed, under a loss of its own in chunks that
    # no fused one replaces; 0 for none.
    head_logits_bytes: float
    # It switches on PyTorch's segments that grow, so varying lengths leave no blocks behind.
    expandable_segments: bool
    keeps_gradients: bool  # they stay from step to step, filled with zeros
    offloads_activations: bool  # checkpoints are kept in system memory
    foreach: bool  # the update works on all parameters at once, with one temporary of each
    reduces_in_fp32: bool  # its FSDP adds up gradients of a layer in FP32
    keeps_outputs: bool  # the last stage of a pipeline keeps the logits of every micro-batch
    # A pipeline takes its batch in one part for each stage, not by sequence.
    splits_by_stages: bool
    wraps_replicas: bool  # undivided replicas are FSDP's, too
    fsdp2: bool  # its FSDP needs no other streams for memory that it frees
    # Its FSDP adds up whole gradients over an accumulation, and divides their sum; None if unknown.
    no_sync: bool | None
    no_sync_source: str  # the address that says so, "" if it is not known
    shares_rollout_weights: bool  # its rollout engine and its training hold one set of weights
    # Positions of every layer's own cosines and sines, `inf` for all that a model knows.
    rope_tokens: float
    context_gib: float  # memory of CUDA with PyTorch's kernels, outside the allocator, GiB
    reserve: float  # share that the caching allocator holds beyond what tensors use
    source: str

    @property
    def own_chunks(self) -> bool:
        """Whether its own loss goes in chunks."""
        return self.head_logits_bytes > 0


@cache
def stacks() -> dict[str, TrainingStack]:
    """Return every stack by its slug, in the table's order."""
    return {stack.slug: stack for stack in read_table(DATA_DIR / "training_stacks.csv", _stack)}


def find_stack(text: str, version: str = "") -> TrainingStack:
    """Return the stack of this name at a version or a date, by default today's.

    Raise InvalidRequest.
    """
    stack = _named(text)
    if not version:
        return stack
    # A month is its last day, as its releases share its name. A library of a family that counts its
    # own versions, such as TRL, needs a date or the version of the family's own library.
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
    """Return the stack with this slug, else by a name in the text. Raise InvalidRequest."""
    name = text.strip().lower()
    by_slug = stacks()
    if name in by_slug:
        return by_slug[name]
    # The first with a name that the text begins with, then one that it contains.
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


Release: TypeAlias = tuple[int, ...]  # numbers of a version, or year, month and day

FIELD = "framework_version"
_FIRST_YEAR = 2000  # a version that begins with as much is a date, as Unsloth's are
_LAST_MONTH, _LAST_DAY = 12, 31
_NUMBERS = re.compile(r"\d{1,4}(?:[.-]\d{1,4}){0,3}")


def read_release(text: str) -> Release:
    """Return the release in "4.46.2", "v0.5", "2025-01" or "2025.8.3".

    A year alone is its last month. Raise InvalidRequest if the text has no number.
    """
    match = _NUMBERS.search(text)
    if match is None:
        raise InvalidRequest(field=FIELD, value=text[:40], reason="not_a_version")
    release = tuple(int(number) for number in re.split(r"[.-]", match[0]))
    return (*release, _LAST_MONTH) if is_date(release) and len(release) == 1 else release


def _last_day(release: Release) -> Release:
    # The last day of a month; other releases as they are.
    return (*release, _LAST_DAY) if is_date(release) and len(release) == 2 else release


def is_date(release: Release) -> bool:
    """Return whether it is a date rather than a version."""
    return release[0] >= _FIRST_YEAR


def is_before(release: Release, ends: tuple[Release, ...]) -> bool:
    """Return whether a release came before the one of `ends` that is of its kind."""
    return any(release < end for end in ends if is_date(end) == is_date(release))
