"""Measures a model's caches after a forward pass on the `meta` device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from bench.model_types.cases import Row

TOKENS = 24  # tokens of the pass
_KEPT = ("keys", "values", "indexer_keys")
_STATES = ("conv_states", "recurrent_states")
_LIGHTNING = "linear_cache"  # states of MiniMax beside its layers


@dataclass(frozen=True, slots=True)
class Experts:
    """The routed experts of one layer."""

    parameters: int
    routed: int
    chosen: int


@dataclass(frozen=True, slots=True)
class Measured:
    """Findings of a pass; None without any."""

    cache: tuple[Row, ...] | None = None
    state_elements: tuple[int, int] | None = None
    experts: tuple[Experts, ...] | None = None
    ran: bool = True  # whether the pass came to its end
    reason: str = ""  # why nothing is known


class _WithoutValues(TorchFunctionMode):
    """Answers operations that need values: no element is found, every number is 0."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        first = args[0] if args else None
        if isinstance(first, torch.Tensor) and first.is_meta:
            if name in ("nonzero", "argwhere"):
                found = torch.empty(0, first.dim(), dtype=torch.int64, device="meta")
                as_tuple = (kwargs or {}).get("as_tuple")
                return tuple(found.unbind(1)) if as_tuple else found
            if name == "where" and len(args) == 1:
                return (torch.empty(0, dtype=torch.int64, device="meta"),) * first.dim()
            if name in ("item", "__int__", "__index__"):
                return 0
            if name == "__getitem__" and _is_mask(args[1]):
                return first.new_empty((0, *first.shape[args[1].dim() :]))
            if name == "__setitem__" and _is_mask(args[1]):
                return None
            if name == "__float__":
                return 0.0
            if name == "__bool__":
                return False
            if name == "tolist":
                return torch.zeros(first.shape, dtype=first.dtype).tolist()
        return func(*args, **(kwargs or {}))


def _is_mask(index: Any) -> bool:
    return isinstance(index, torch.Tensor) and index.dtype is torch.bool


def measure(model: PreTrainedModel) -> Measured:
    """Run a model over `TOKENS` tokens and return its caches.

    For a model that takes more than tokens, or whose parts run apart, the part that writes is run.
    """
    seen: dict[str, Experts | None] = {}
    for name, module in _routed(model):
        _watch(name, module, seen)
    reason, output = "", None
    for part in _parts(model):
        try:
            with torch.no_grad(), _WithoutValues():
                output = part(**_inputs(part))
            break
        except Exception as error:
            reason = reason or f"{type(error).__name__}: {str(error)[:200]}"
    if output is None:
        return Measured(experts=None if seen else (), ran=False, reason=reason)
    known = [experts for experts in seen.values() if experts is not None]
    experts = tuple(known) if len(known) == len(seen) else None
    try:
        cache, states = _kept(output)
    except ValueError as error:
        return Measured(experts=experts, reason=str(error))
    return Measured(cache, states, experts)


def _parts(model: PreTrainedModel) -> Iterator[PreTrainedModel]:
    # The whole, then those parts of a generating model that may run alone.
    yield model
    if not model.can_generate():
        return
    inner = [part for part in model.children() if isinstance(part, PreTrainedModel)]
    yield from (part for part in inner if part.can_generate())
    decoder = model.get_decoder()
    if isinstance(decoder, PreTrainedModel) and decoder is not model:
        yield decoder


def _inputs(model: PreTrainedModel) -> dict[str, Any]:
    tokens = torch.zeros(1, TOKENS, dtype=torch.int64, device="meta")
    if not model.config.is_encoder_decoder:
        return {"input_ids": tokens, "use_cache": True}
    text = model.config.get_text_config(decoder=True)
    width = getattr(text, "d_model", None) or text.hidden_size
    read = torch.zeros(1, TOKENS, width, dtype=model.dtype, device="meta")
    encoded = BaseModelOutput(last_hidden_state=read)
    # Further output of some encoders.
    encoded.router_logits = encoded.router_probs = encoded.attention_mask = None
    return {
        "decoder_input_ids": tokens,
        "encoder_outputs": encoded,
        "use_cache": True,
    }


def _routed(model: PreTrainedModel) -> Iterator[tuple[str, torch.nn.Module]]:
    for name, module in model.named_modules():
        if type(module).__name__.endswith("Experts"):
            yield name, module


def _watch(name: str, module: torch.nn.Module, seen: dict[str, Experts | None]) -> None:
    # Replaces the experts of a layer, and counts those that a token goes to. Shared experts,
    # which receive no choice, run for every token.
    every_token = module.forward
    seen[name] = None

    def forward(hidden: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        numbers = [a for a in (*args, *kwargs.values()) if _is_choice(a)]
        if any(isinstance(argument, list) for argument in args):  # sizes of each expert's share
            return hidden.new_zeros(hidden.shape[0], next(module.parameters()).shape[1])
        if not numbers:
            if "Shared" in type(module).__name__:
                seen.pop(name, None)
            return every_token(hidden, *args, **kwargs)
        chosen = numbers[0].shape[-1] if len(numbers) == 1 else 0
        parameters = list(module.parameters())
        routed = (
            parameters[0].shape[0] if parameters[0].dim() == 3 else len(list(module.children()))
        )
        total = sum(parameter.numel() for parameter in parameters)
        seen[name] = Experts(total, routed, chosen) if 0 < chosen <= routed else None
        return torch.zeros_like(hidden)

    module.forward = forward


def _is_choice(argument: Any) -> bool:
    return isinstance(argument, torch.Tensor) and argument.dtype in (torch.int64, torch.int32)


def _kept(output: Any) -> tuple[tuple[Row, ...], tuple[int, int]]:
    # Raises ValueError for a cache of an unknown form. A convolution of `kernel` inputs remembers
    # all but the newest, and this code all of them.
    caches = [value for value in vars(output).values() if isinstance(value, Cache)]
    if not caches:
        if _holds_tensors(state := output.get("state")):  # RWKV
            elements = sum(map(_elements, state))
            return (), (elements, elements)
        others = [name for name in ("past_key_values", "cache_params") if output.get(name)]
        raise ValueError(f"cache of another form: {others}" if others else "no cache")
    cache = caches[0]
    if isinstance(cache, EncoderDecoderCache):
        cache = cache.self_attention_cache
    rows: Counter[tuple[float, int | None]] = Counter()
    states, newest = sum(map(_elements, getattr(cache, _LIGHTNING, ()))), 0
    if unknown := _others(cache, (_LIGHTNING,)):
        raise ValueError(f"{type(cache).__name__} keeps {', '.join(unknown)}")
    for layer in cache.layers:
        if unknown := _others(layer, (*_KEPT, *_STATES)):
            raise ValueError(f"{type(layer).__name__} keeps {', '.join(unknown)}")
        each = sum(_of_token(getattr(layer, name, None)) for name in ("keys", "values"))
        window = getattr(layer, "sliding_window", None)
        if each:
            rows[each, window] += 1
        if indexer := _of_token(getattr(layer, "indexer_keys", None)):
            rows[indexer, None] += 1
        for name in _STATES:
            states += sum(map(_elements, (getattr(layer, name, None) or {}).values()))
        for inputs in (getattr(layer, "conv_states", None) or {}).values():
            newest += _elements(inputs) // inputs.shape[-1] if inputs is not None else 0
    kept = tuple((n, each, window) for (each, window), n in rows.items())
    return kept, (states - newest, states)


def _others(holder: object, known: Iterable[str]) -> list[str]:
    # Public ones.
    return [
        name
        for name, value in vars(holder).items()
        if name not in known and not name.startswith("_") and _holds_tensors(value)
    ]


def _of_token(value: Any) -> float:
    # A layer may hold more tokens than were given, such as a prompt.
    tokens = value.shape[-2] if isinstance(value, torch.Tensor) and value.dim() > 1 else 0
    return value.numel() / tokens if tokens else 0


def _elements(value: Any) -> int:
    return value.numel() if isinstance(value, torch.Tensor) else 0


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return any(_holds_tensors(item) for item in value)
    return isinstance(value, torch.Tensor) and value.numel() > 0
