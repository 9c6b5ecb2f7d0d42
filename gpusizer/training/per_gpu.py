"""TrainingMemory: bytes of one GPU, part by part, and the part that training needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.byte_ranges import Amount, Provenance, total


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """Bytes of one GPU at the peak of a step."""

    weights: Amount  # frozen and trained, adapters and tables of rotary positions included
    loading: Amount  # weights, and 16-bit ones on the way while they are loaded and quantized
    # gradients, optimizer: bytes for trained weights; FP32 copies and averages are the optimizer's.
    gradients: Amount
    optimizer: Amount
    activations: Amount  # kept by the forward pass, and those of one layer in its backward pass
    logits: Amount  # from the logits to their gradient, if the peak is at the loss
    buffers: Amount  # gathered weights, buckets, dequantized matrices, temporaries of the update
    reserve: Amount  # held by the caching allocator beyond the tensors
    reclaimable: Amount  # part of `reserve` that is given back before an allocation fails
    elastic: int  # part of `reclaimable` that a stack takes because it finds it free
    context: Amount  # CUDA's own memory, outside the allocator
    # States that the driver moves to system memory when the card is full; no need of the card and
    # none of PyTorch's, so not in `optimizer` (bitsandbytes functional.py, get_paged:
    # cudaMallocManaged).
    paged: int
    # Moment of the peak: "loss", "backward", "update", or "loading" before the first step.
    phase: str
    # host, nvme: system memory and disks for all GPUs together.
    host: int
    nvme: int
    trainable: int  # parameters that are trained
    base: str  # format of frozen weights, "" without any

    @property
    def allocated(self) -> Amount:
        """Tensors alone: torch.cuda.max_memory_allocated."""
        return total(
            (
                self.weights,
                self.gradients,
                self.optimizer,
                self.activations,
                self.logits,
                self.buffers,
            )
        )

    @property
    def reserved(self) -> Amount:
        """Memory held by PyTorch: torch.cuda.max_memory_reserved."""
        return self.allocated + self.reserve

    @property
    def total(self) -> Amount:
        """Memory used on the device, as nvidia-smi shows it; paged states count at the high end."""
        pages = Amount(0, 0, self.paged, Provenance.DERIVED)
        return self.reserved + self.context + pages

    @property
    def overhead(self) -> Amount:
        """Needed memory without tensors: the allocator's reserve that stays, and CUDA."""
        return self.reserve.without(self.reclaimable) + self.context

    @property
    def needed(self) -> Amount:
        """Bytes below which training runs out of memory: the total less what is reclaimable."""
        return self.allocated + self.overhead

    def on(self, free_bytes: int) -> TrainingMemory:
        """Return the estimate for `free_bytes`, shrinking reclaimable memory to fit."""
        left = max(0, free_bytes - self.needed.likely)
        held = self.reclaimable
        low, likely, high = (min(end, left) for end in (held.low, held.likely, held.high))
        taken = Amount(low, likely, high, held.provenance)
        return replace(
            self,
            reserve=self.reserve.without(held) + taken,
            reclaimable=taken,
            elastic=max(0, self.elastic - (held.likely - likely)),
        )
