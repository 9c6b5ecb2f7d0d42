"""Builds classes of transformers on the `meta` device, where tensors have shapes and no memory.

    pip install -r bench/model_types/requirements.txt

Only this module and `forward_pass` need PyTorch and transformers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import transformers
from transformers import AutoConfig, PreTrainedModel
from transformers.core_model_loading import revert_weight_conversion
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from bench.model_types.cases import Case, Truth
from bench.model_types.forward_pass import Experts, Measured, measure
from gpusizer.core.tables import toml_of
from gpusizer.hub.tensors import group_tensors

_MOST_GROUPS = 1_000  # of one case: experts of names that are not numbers
_DTYPES = {
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}

# values of published models if a class cannot be built from its defaults
_PUBLISHED: Mapping[str, Any] = toml_of(__file__)
_ENCODES = "MASKED_LM"
_WRITES = ("SPEECH_SEQ_2_SEQ", "SEQ_TO_SEQ_CAUSAL_LM", "MULTIMODAL_LM", "CAUSAL_LM")
_OTHERS = (
    "TEXT_TO_WAVEFORM",
    "CTC",
    "OBJECT_DETECTION",
    "IMAGE_CLASSIFICATION",
    "ZERO_SHOT_IMAGE_CLASSIFICATION",
    "DEPTH_ESTIMATION",
    "AUDIO_CLASSIFICATION",
)


class NotBuilt(Exception):
    """A model type whose class cannot be built from its own defaults; the text gives the reason."""


def model_types() -> list[str]:
    """Return every model type that has a class of a model."""
    return [name for name in sorted(CONFIG_MAPPING_NAMES) if class_name_of(name)]


def class_name_of(model_type: str) -> str | None:
    """Return the class that a repository of this type usually states.

    The masked language model if there is one, else a class that writes, else another head, else the
    bare model.
    """
    for mapping in (_ENCODES, *_WRITES, *_OTHERS):
        names = getattr(modeling_auto, f"MODEL_FOR_{mapping}_MAPPING_NAMES", {})
        if (name := _first(names.get(model_type))) is not None:
            return name
    return _first(modeling_auto.MODEL_MAPPING_NAMES.get(model_type))


def _first(names: Any) -> str | None:
    if isinstance(names, (tuple, list)):
        names = names[0] if names else None
    return names if isinstance(names, str) else None


def build_case(model_type: str) -> Case:
    """Return the default model of a type, as `save_pretrained` would write it, and its truth.

    Raises NotBuilt.
    """
    name = class_name_of(model_type)
    try:
        model = _model(model_type, str(name))
        tensors = group_tensors(_saved(model))
        config = json.loads(model.config.to_json_string(use_diff=True))
    except Exception as error:
        raise NotBuilt(f"{type(error).__name__}: {str(error)[:200]}") from error
    if len(tensors) > _MOST_GROUPS:
        raise NotBuilt(f"{len(tensors)} groups of tensors")
    config["architectures"] = [type(model).__name__]
    stored = sum(group.elements for group in tensors)
    return Case(model_type, type(model).__name__, config, tensors, _truth(model, stored))


def _model(model_type: str, class_name: str) -> PreTrainedModel:
    config = AutoConfig.for_model(model_type, **_PUBLISHED.get(model_type, {}))
    model_class = getattr(transformers, class_name)
    with torch.device("meta"):
        model: PreTrainedModel = model_class._from_config(config, dtype=torch.bfloat16)
    return model.eval()


def _saved(model: PreTrainedModel) -> Iterator[tuple[str, str, tuple[int, ...]]]:
    # As it is written, tied tensors once.
    seen: set[int] = set()
    state = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            state[name] = tensor.detach()
    ignored = model._keys_to_ignore_on_save or ()
    state = {name: tensor for name, tensor in state.items() if name not in ignored}
    for name, tensor in revert_weight_conversion(model, state).items():
        yield name, _DTYPES[tensor.dtype], tuple(tensor.shape)


def _truth(model: PreTrainedModel, stored: int) -> Truth:
    ignored = model._keys_to_ignore_on_save or ()
    parameters = sum(p.numel() for name, p in model.named_parameters() if name not in ignored)
    measured = measure(model)
    return Truth(
        parameters=parameters,
        buffers=max(0, stored - parameters),
        active_parameters=_active(parameters, measured),
        keeps=_keeps(model, measured),
        cache=measured.cache,
        state_elements=measured.state_elements,
    )


def _keeps(model: PreTrainedModel, measured: Measured) -> bool | None:
    if measured.cache is not None:
        return bool(measured.cache) or measured.state_elements != (0, 0)
    unseen = model.can_generate() or (_takes_tokens(model) and not measured.ran)
    return None if unseen else False


def _takes_tokens(model: PreTrainedModel) -> bool:
    try:
        return isinstance(model.get_input_embeddings(), torch.nn.Embedding)
    except NotImplementedError:
        return False


def _active(parameters: int, measured: Measured) -> int | None:
    # Without the routed experts that a token does not choose.
    if measured.experts is None:
        return None
    return parameters - sum(_idle(experts) for experts in measured.experts)


def _idle(experts: Experts) -> int:
    return experts.parameters - experts.parameters * experts.chosen // experts.routed
