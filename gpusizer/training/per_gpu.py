"""TrainingMemory: what one GPU holds, part by part, and what of that it needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.byte_ranges import Amount, Provenance, total


@dataclass(frozen=True, slots=True)
class TrainingMemory:
    """What one GPU holds at the peak of a step. Bytes.

    Attributes:
        weights: frozen and trained, adapters and tables of rotary positions included.
        loading: weights and what is on its way to them while they are loaded and quantized.
        gradients, optimizer: of what is trained; FP32 copies and averages are the optimizer's.
        activations: kept by the forward pass, and those of one layer in its backward pass.
        logits: from the logits to their gradient, where the peak is at the loss.
        buffers: gathered weights, buckets, dequantized matrices, temporaries of the update.
        reserve: held by the caching allocator beyond the tensors.
        reclaimable: of `reserve`, what is given back before an allocation fails.
        elastic: of that, what a stack takes because it finds it free.
        context: of CUDA, outside the allocator.
        paged: states that the driver moves to system memory when the card is full; no need of
            the card and none of PyTorch's, so not in `optimizer` (bitsandbytes functional.py,
            get_paged: cudaMallocManaged).
        phase: where the peak is: "loss", "backward", "update", or "loading" before the first step.
        host, nvme: system memory and disks for all GPUs together.
        trainable: parameters that are trained.
        base: how frozen weights are held, "" when none are.
    """

    weights: Amount
    loading: Amount
    gradients: Amount
    optimizer: Amount
    activations: Amount
    logits: Amount
    buffers: Amount
    reserve: Amount
    reclaimable: Amount
    elastic: int
    context: Amount
    paged: int
    phase: str
    host: int
    nvme: int
    trainable: int
    base: str

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
        """Held by PyTorch: torch.cuda.max_memory_reserved."""
        return self.allocated + self.reserve

    @property
    def total(self) -> Amount:
        """Used on the device, as nvidia-smi shows it; paged states lie there at the high end."""
        pages = Amount(0, 0, self.paged, Provenance.DERIVED)
        return self.reserved + self.context + pages

    @property
    def overhead(self) -> Amount:
        """Of what is needed, all but tensors: the allocator's reserve that stays, and CUDA."""
        return self.reserve.without(self.reclaimable) + self.context

    @property
    def needed(self) -> Amount:
        """Bytes below which training runs out of memory: the total less what the allocator can give
        back.
        """
        return self.allocated + self.overhead

    def on(self, free_bytes: int) -> TrainingMemory:
        """The same on a device with so many bytes free: what is reclaimable takes what is left."""
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
