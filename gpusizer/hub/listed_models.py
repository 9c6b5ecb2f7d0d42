"""Entries of the Hub's listings: models by use, and quantizations of a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One entry of the Hub's listing. A fact that the Hub leaves out has the value None."""

    repo_id: str
    # day of the repository's creation; the Hub gives 2022-03-02 for all older ones
    created: date | None = None
    downloads: int | None = None  # in the last 30 days, as the Hub counts them
    likes: int | None = None
    trending_score: float | None = None  # the Hub's measure of current interest
    pipeline_tag: str | None = None
    # Elements of its safetensors files as the Hub counts them: packed 4-bit weights count by their
    # containers.
    parameters: int | None = None
    license: str | None = None
    gated: bool = False
    base_relation: str | None = None  # "quantized", "finetune", "adapter", "merge"
    base_models: tuple[str, ...] = ()  # IDs of the models that it was made from


@dataclass(frozen=True, slots=True)
class Listing:
    """Answer to one request for trending models, the most trending first."""

    models: tuple[ListedModel, ...]
    read_on: date  # day of the answer


# Requests the Hub's listing once. Raises HubUnreachable and HubRateLimited.
ListTrending = Callable[[], Listing]


@dataclass(frozen=True, slots=True)
class QuantizedRepo:
    """A published quantization of a model, as the Hub's model tree lists it."""

    repo_id: str
    form: str  # "gguf", "awq", "gptq", "fp8", …; "other" if unknown
    downloads: int  # in the last 30 days, as the Hub counts them
    likes: int
    # Sum of its weight files, if requested and known. A GGUF repository holds one model at several
    # widths: the sum of all.
    weight_bytes: int | None = None


# Returns quantized repositories of a base model by its ID, most downloaded first. The flag asks for
# sizes, at one request for each repository. Raises ModelUnreadable.
Lister = Callable[[str, bool], tuple[QuantizedRepo, ...]]
