"""ModelsRequest: a checked question about what a card or a machine runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpusizer.errors import InvalidRequest
from gpusizer.fields import texts
from gpusizer.models_for.tasks import TASKS
from gpusizer.request import SizeRequest, parse_size_request
from gpusizer.rig import is_rig

ABOUT_ONE_MODEL = ("model", "revision", "file", "rank_by", "quantized_repos")
"""Fields of a size request that have no meaning here."""


@dataclass(frozen=True, slots=True)
class ModelsRequest:
    """A checked request.

    Attributes:
        asked: GPU or rig, quantizations, workload and number of rows, as in a size request.
        models: IDs to look at; empty for all that come with gpusizer.
        task: only models of this kind; "" for every kind.
    """

    asked: SizeRequest
    models: tuple[str, ...]
    task: str

    @property
    def rig(self) -> str:
        """The machine asked about, "" when it is one kind of GPU."""
        return self.asked.rig

    @property
    def gpu(self) -> str:
        """The GPU asked about, with a count or not."""
        return self.asked.gpus[0] if self.asked.gpus else ""


def parse_models_request(fields: Mapping[str, Any]) -> ModelsRequest:
    """A checked request: `gpu` or `rig`, `models`, `model_task`, and fields of a size request.

    A `gpu` such as "3090 + 3060 + 64gb ram" is a rig. Raises InvalidRequest.
    """
    values = {name: value for name, value in fields.items() if value not in (None, "", [], ())}
    for name in ABOUT_ONE_MODEL:
        if name in values:
            raise InvalidRequest(field=name, value=str(values[name])[:80], reason="unknown_field")
    models = tuple(dict.fromkeys(texts("models", values.pop("models", ()))))
    task = _task(values.pop("model_task", ""))
    gpu = values.get("gpu")
    if isinstance(gpu, str) and is_rig(gpu):
        if "rig" in values:
            raise InvalidRequest(field="rig", value=str(values["rig"])[:80], reason="gpu_or_rig")
        values["rig"] = values.pop("gpu")
    asked = parse_size_request(values)
    if asked.rig and asked.gpus:
        raise InvalidRequest(field="rig", value=asked.rig[:80], reason="gpu_or_rig")
    if not asked.rig and len(asked.gpus) != 1:
        reason = "one_gpu" if asked.gpus else "empty"
        raise InvalidRequest(field="gpu", value=", ".join(asked.gpus)[:80], reason=reason)
    return ModelsRequest(asked, models, task)


def _task(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(field="model_task", value=str(value)[:80], reason="not_text")
    task = value.strip().lower()
    if task and task not in TASKS:
        raise InvalidRequest(
            field="model_task", value=value[:80], reason="not_one_of", choices=", ".join(TASKS)
        )
    return task
