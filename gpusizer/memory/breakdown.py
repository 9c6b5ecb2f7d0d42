"""Breakdown: memory of one GPU, or of all, by purpose."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, total


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Memory by purpose. `outside` is the part of the overhead beyond the engine's budget."""

    weights: Amount
    kv_cache: Amount
    activations: Amount
    overhead: Amount
    outside: Amount

    @property
    def total(self) -> Amount:
        """Sum of all parts, `outside` included."""
        return total((self.weights, self.kv_cache, self.activations, self.overhead, self.outside))

    @property
    def likely_bytes(self) -> dict[str, int]:
        """Likely bytes by purpose; `outside` is counted as overhead."""
        return {
            "weights": self.weights.likely,
            "kv_cache": self.kv_cache.likely,
            "activations": self.activations.likely,
            "overhead": self.overhead.likely + self.outside.likely,
        }

    @property
    def provenance(self) -> dict[str, str]:
        """Provenance of each part of `likely_bytes`."""
        return {
            "weights": self.weights.provenance.value,
            "kv_cache": self.kv_cache.provenance.value,
            "activations": self.activations.provenance.value,
            "overhead": (self.overhead + self.outside).provenance.value,
        }

    def together(self, gpus: int, weights: Amount, cache_bytes: int) -> Breakdown:
        """Return the sum over `gpus` equal GPUs with all their `weights` and cache."""
        if gpus == 1:
            return self
        several = (self.activations, self.overhead, self.outside)
        cache = exactly(cache_bytes, Provenance.DERIVED)
        return Breakdown(weights, cache, *(amount.times(gpus) for amount in several))

    def plus(self, other: Breakdown) -> Breakdown:
        """Return the sum of both, part by part."""
        names = Breakdown.__slots__
        return Breakdown(*(getattr(self, name) + getattr(other, name) for name in names))
