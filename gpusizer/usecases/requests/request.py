"""Requests to size a model, to compare GPUs and to list them, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, Field

from gpusizer.advice.conclusion.clauses import Kind
from gpusizer.advice.policies import POLICIES
from gpusizer.core.request_model import RequestModel, fields_of, is_empty
from gpusizer.core.validation import MAX_TEXT_CHARS, Flag, Number, OneOf, Refused, Text, Unit
from gpusizer.fit.machine_parser import is_mixed, split_machines
from gpusizer.fit.requirements import READING_SPEED
from gpusizer.memory.workload import DEFAULT_CONTEXT, Workload
from gpusizer.usecases.requests.request_fields import (
    CostFields,
    FilterFields,
    GpuFields,
    Machines,
    ModelFields,
    QuantFields,
    RigFields,
    read_underscores,
)
from gpusizer.usecases.requests.workload_fields import LENGTHS, TargetFields, WorkloadFields

RANKINGS = tuple(POLICIES)
LISTINGS = ("list", "sizes")


class AnswerFields(RequestModel):
    """Parts of the answer about one model."""

    heading: ClassVar[str] = "answer"

    rank_by: Annotated[str, OneOf(RANKINGS), BeforeValidator(read_underscores)] = Field(
        RANKINGS[0], description="order of the ranking"
    )
    min_tok_s: Annotated[Number | None, Unit("TOK_S")] = Field(
        None,
        ge=0.01,
        le=1e6,
        description="tokens/s that each user should see: slower plans are left out, those of"
        f" unknown speed stay; without it {READING_SPEED:g}, as fast as one reads, count as enough"
        " for a recommendation",
    )
    quantized_repos: Annotated[str, OneOf(LISTINGS)] = Field(
        "",
        description="also list the quantized repositories published for the model; sizes adds"
        " their bytes",
    )


class ModelCardFields(RequestModel):
    """Use of the model card."""

    heading: ClassVar[str] = "model card"

    card: Flag = Field(
        True, description="read the model card, and put what its author says beside the numbers"
    )
    as_card: Flag = Field(
        False,
        description="take over the engine, quantization, context, draft model and arguments of"
        " the command in the model card",
    )


class SizeRequest(
    ModelFields,
    QuantFields,
    GpuFields,
    RigFields,
    AnswerFields,
    ModelCardFields,
    WorkloadFields,
    TargetFields,
    FilterFields,
    CostFields,
):
    """A checked request to size one model."""

    @property
    def kind(self) -> Kind:
        """Kind of question: "load" for several users or a rate, "fit" for GPUs, else "need"."""
        if self.requests_per_second is not None or self.concurrency > 1:
            return "load"
        return "fit" if self.gpus or self.rig else "need"

    @classmethod
    def of_machines(cls, fields: Mapping[str, object]) -> Self:
        """Return a checked request; one `gpu` such as "3090 + 3060 + 64 GB RAM" is a rig.

        Raises InvalidRequest for invalid fields.
        """
        gpu = fields.get("gpu")
        if isinstance(gpu, str) and is_empty(fields.get("rig")):
            machines = split_machines([gpu[:MAX_TEXT_CHARS]])
            if len(machines) == 1 and is_mixed(machines[0]):
                return super().of_machines({**fields, "gpu": None, "rig": machines[0]})
        return super().of_machines(fields)

    @property
    def workload(self) -> Workload:
        """The workload with the stated lengths as context for several users.

        Each user then needs memory for the stated prompt and answer alone, unless the request names
        another context than the default. (Forms and endpoints send the default as if it were
        stated.)
        """
        workload, tokens = super().workload, self.tokens_of_a_request
        if tokens is None or workload.concurrency < 2 or self.context != DEFAULT_CONTEXT:
            return workload
        return replace(workload, context=tokens)


class AuthorTerms(QuantFields, WorkloadFields):
    """Fields of a size request that a model card states."""


def _not_empty(names: tuple[str, ...]) -> tuple[str, ...]:
    if not names:
        raise Refused("empty")
    return names


class CompareRequest(SizeRequest):
    """A checked request to put GPUs side by side, and to size a model on each if it names one.

    A size request with GPUs is one too; fields that choose GPUs to rank are unused.
    """

    heading: ClassVar[str] = "GPUs"

    unused: ClassVar[frozenset[str]] = frozenset(
        (
            *("gpu", "gpu_count", "top", "rank_by", "min_tok_s", "rig"),
            *fields_of(FilterFields),
            *fields_of(ModelCardFields),
            *(fields_of(TargetFields).keys() - LENGTHS),
        )
    )

    compared: Annotated[Machines, AfterValidator(_not_empty)] = Field(
        alias="gpus",
        description='GPUs with a count or not, such as "rtx 4090", "2x3090" and "m3 max 128gb";'
        ' of a Mac with its GPU cores, "m4 pro 24gb (16 cores)"',
    )


class ListingRequest(FilterFields):
    """A checked request to list the catalogue of GPUs."""

    heading: ClassVar[str] = "GPUs"

    query: Annotated[Text, Unit("WORDS")] = Field(
        "", description='words that the name must contain, such as "rtx 40"; without them all GPUs'
    )
