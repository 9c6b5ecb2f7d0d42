"""PyTorch and transformers as a Backend. Imported only where both are installed.

On CUDA the caching allocator's own counters are read. A CPU has none, so every storage that an
operation allocates is counted until it is freed; workspaces inside kernels are not counted.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
import transformers
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from bench.measuring.backend import Config, Device, DeviceFull, NotBuildable, Training

_DTYPES = {"bf16": torch.bfloat16, "f32": torch.float32}
_NOT_BUILT = frozenset({"quantization_config", "auto_map", "model_type", "torch_dtype", "dtype"})
_Result = TypeVar("_Result")


class LiveStorages(TorchDispatchMode):
    """Counts the bytes of every storage that is allocated in this mode, until it is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.live = 0
        self.peak = 0
        self._bytes_by_storage: dict[int, int] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        tree_map_only(torch.Tensor, self._count, result)
        return result

    def _count(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._bytes_by_storage and tensor.device.type == "cpu":
            self._bytes_by_storage[key] = storage.nbytes()
            self.live += storage.nbytes()
            self.peak = max(self.peak, self.live)
            weakref.finalize(storage, self._free, key)
        return tensor

    def _free(self, key: int) -> None:
        self.live -= self._bytes_by_storage.pop(key)


class Adapter(nn.Module):
    """A frozen linear layer with a trainable low-rank addition in FP32, as in PEFT."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base
        device = base.weight.device
        self.down = nn.Parameter(torch.randn(rank, base.in_features, device=device) * 0.01)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, device=device))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        added = hidden.to(self.down.dtype) @ self.down.T @ self.up.T
        return self.base(hidden) + added.to(hidden.dtype)


class TorchBackend:
    """A CUDA device, or the CPU."""

    def __init__(self, device: str) -> None:
        self._on = torch.device(device)
        self._cuda = self._on.type == "cuda"
        self._storages = LiveStorages()
        self._model: Any = None
        self._cache: Any = None
        self._optimizer: Any = None
        self._loss: Any = None
        if self._cuda:
            torch.cuda.init()
        else:
            self._storages.__enter__()

    def close(self) -> None:
        """Stop counting."""
        if not self._cuda:
            self._storages.__exit__(None, None, None)

    @property
    def device(self) -> Device:
        name, memory = "cpu", None
        if self._cuda:
            properties = torch.cuda.get_device_properties(self._on)
            name, memory = properties.name, properties.total_memory
        software = f"torch {torch.__version__}, CUDA {torch.version.cuda or 'none'}"
        return Device(name, memory, transformers.__version__, software)

    def live_bytes(self) -> int:
        gc.collect()
        return torch.cuda.memory_allocated(self._on) if self._cuda else self._storages.live

    def mark(self) -> None:
        gc.collect()
        self._storages.peak = self._storages.live
        if self._cuda:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self._on)

    def peak_bytes(self) -> int:
        return torch.cuda.max_memory_allocated(self._on) if self._cuda else self._storages.peak

    def reserved_peak_bytes(self) -> int | None:
        return torch.cuda.max_memory_reserved(self._on) if self._cuda else None

    def context_bytes(self) -> int | None:
        """Return bytes outside of the allocator; those of other processes would be counted, too."""
        if not self._cuda:
            return None
        free, total = torch.cuda.mem_get_info(self._on)
        return total - free - torch.cuda.memory_reserved(self._on)

    def load(self, config: Config, dtype: str) -> None:
        settings = _built(config)
        try:
            with self._on:
                self._model = _guarded(
                    lambda: transformers.AutoModelForCausalLM.from_config(
                        settings, dtype=_DTYPES[dtype]
                    )
                )
        except DeviceFull:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, ImportError) as error:
            raise NotBuildable(str(error)) from error
        self._model.eval()

    def prefill(self, tokens: int) -> None:
        with torch.inference_mode():
            output = _guarded(
                lambda: self._model(self._prompt(1, tokens), use_cache=True, logits_to_keep=1)
            )
        self._cache = output.past_key_values

    def drop_cache(self) -> None:
        self._cache = None

    def prepare(self, training: Training) -> None:
        self._model.train()
        if training.gradient_checkpointing:
            self._model.activation_checkpointing_enable()
        if training.method == "lora":
            self._model.requires_grad_(False)
            self._model.enable_input_require_grads()
            _add_adapters(self._model, training.lora_rank)
        trained = [weight for weight in self._model.parameters() if weight.requires_grad]
        self._optimizer = torch.optim.AdamW(trained, lr=1e-5)

    def forward(self, training: Training) -> None:
        prompt = self._prompt(training.micro_batch, training.sequence_length)
        mixed = training.precision == "mixed"

        with torch.autocast(self._on.type, torch.bfloat16, enabled=mixed):
            self._loss = _guarded(lambda: self._model(prompt, labels=prompt, use_cache=False).loss)

    def backward(self) -> None:
        loss, self._loss = self._loss, None
        _guarded(loss.backward)

    def optimizer_step(self) -> None:
        _guarded(self._optimizer.step)

    def clear_gradients(self) -> None:
        self._optimizer.zero_grad(set_to_none=True)

    def unload(self) -> None:
        self._model = self._cache = self._optimizer = self._loss = None
        gc.collect()
        if self._cuda:
            torch.cuda.empty_cache()

    def _prompt(self, sequences: int, tokens: int) -> torch.Tensor:
        vocabulary = self._model.config.get_text_config().vocab_size
        return torch.randint(vocabulary, (sequences, tokens), device=self._on)


def _guarded(act: Callable[[], _Result]) -> _Result:
    try:
        return act()
    except torch.OutOfMemoryError as error:
        raise DeviceFull from error


def _built(config: Mapping[str, Any]) -> Any:
    """Return transformers' configuration object; code of repositories is never run."""
    settings = {name: value for name, value in config.items() if name not in _NOT_BUILT}
    try:
        return transformers.AutoConfig.for_model(config["model_type"], **settings)
    except Exception as error:  # each class checks its fields in its own way
        raise NotBuildable(str(error)) from error


def _add_adapters(model: nn.Module, rank: int) -> None:
    """Add adapters to every linear layer except the output head."""
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Linear) and child is not head:
                setattr(parent, name, Adapter(child, rank))
