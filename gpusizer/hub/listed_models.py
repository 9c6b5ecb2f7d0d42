"""What the Hub's listings say: of a model, with how much it is used, and of its quantizations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One entry of the listing; what the Hub leaves out is None.

    Attributes:
        created: the day its repository was made on the Hub, which is 2022-03-02 for all older ones.
        downloads: in the last 30 days, as the Hub counts them.
        likes: hearts.
        trending_score: the Hub's own measure of what is looked at now.
        parameters: elements of its safetensors files by the Hub's count, in which packed 4-bit
            weights count by their containers.
        base_relation: "quantized", "finetune", "adapter", "merge".
        base_models: what it was made of.
    """

    repo_id: str
    created: date | None = None
    downloads: int | None = None
    likes: int | None = None
    trending_score: float | None = None
    pipeline_tag: str | None = None
    parameters: int | None = None
    license: str | None = None
    gated: bool = False
    base_relation: str | None = None
    base_models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """The answer to one request for the models that are trending, the most trending first.

    Attributes:
        read_on: the day on which the Hub answered.
    """

    models: tuple[ListedModel, ...]
    read_on: date


ListTrending = Callable[[], Listing]
"""Asks the Hub's listing, in one request; raises HubUnreachable and HubRateLimited."""


@dataclass(frozen=True, slots=True)
class QuantizedRepo:
    """A published quantization of a model, as the Hub's model tree lists it.

    Attributes:
        repo_id: its ID.
        form: "gguf", "awq", "gptq", "fp8", …; "other" when nothing says it.
        downloads: in the last 30 days, as the Hub counts them.
        likes: hearts.
        weight_bytes: bytes of its weight files, where they were asked for and are known. A
            GGUF repository holds one model at many widths: the sum of all.
    """

    repo_id: str
    form: str
    downloads: int
    likes: int
    weight_bytes: int | None = None


Lister = Callable[[str, bool], tuple[QuantizedRepo, ...]]
"""From a base model's ID, and whether sizes are wanted (one request more for each), to the
quantized repositories published for it, most downloaded first. Raises ModelUnreadable."""
