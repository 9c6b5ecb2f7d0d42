"""Checkpoints that hold a whole diffusion pipeline in one file.

Prefixes of tensor names tell the components apart. They are those of Stability AI's and Black
Forest Labs' repositories; diffusers' `loaders/single_file_utils.py` uses the same ones.
"""

from __future__ import annotations

from dataclasses import replace

from gpusizer.hub.snapshot import Component, Format
from gpusizer.hub.tensors import TensorGroup

# The denoiser comes first: the pipeline's profile takes its facts from the first component.
_PREFIXES = {
    "model.diffusion_model.": "denoiser",
    "first_stage_model.": "vae",
    "vae.": "vae",
    "cond_stage_model.": "text_encoder",
    "conditioner.": "text_encoder",
    "text_encoders.": "text_encoder",
}
_BARE_DENOISERS = ("double_blocks.{}.", "joint_blocks.{}.", "input_blocks.{}.")
_OTHER = "other"
_ORDER = ("denoiser", "text_encoder", "vae", _OTHER)


def split_checkpoint(
    form: Format, components: tuple[Component, ...]
) -> tuple[Format, tuple[Component, ...]]:
    """Split a single-file pipeline into its components; return anything else unchanged."""
    if form != "safetensors" or len(components) != 1 or components[0].config is not None:
        return form, components
    component = components[0]
    patterns = [group.pattern for group in component.tensors]
    if any(pattern.startswith(_BARE_DENOISERS) for pattern in patterns):
        return "diffusers", (replace(component, name=_ORDER[0]),)
    if not any(pattern.startswith(next(iter(_PREFIXES))) for pattern in patterns):
        return form, components
    parts: dict[str, list[TensorGroup]] = {}
    for group in component.tensors:
        parts.setdefault(_part_of(group.pattern), []).append(group)
    names = [name for name in _ORDER if name in parts]
    return "diffusers", tuple(
        Component(
            name,
            None,
            # The one file is listed once, under the first component.
            component.files if number == 0 else (),
            tuple(parts[name]),
        )
        for number, name in enumerate(names)
    )


def _part_of(pattern: str) -> str:
    return next((part for prefix, part in _PREFIXES.items() if pattern.startswith(prefix)), _OTHER)
