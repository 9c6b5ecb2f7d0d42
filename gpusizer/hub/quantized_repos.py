"""QuantizedRepo: a published quantization of a model, as the Hub's model tree lists it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QuantizedRepo:
    """One repository of the listing.

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
