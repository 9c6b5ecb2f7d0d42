"""ModelsRequest: a checked question about the models that a card or a machine runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, Field

from gpusizer.core.request_model import fields_of, is_empty
from gpusizer.core.validation import Flag, OneOf, Refused, Text, Texts, Unit, fail
from gpusizer.fit.machine_parser import is_rig
from gpusizer.gpus.names import parse_gpu_request
from gpusizer.model.tasks import TASKS
from gpusizer.quality.boards import PURPOSES, WorkPurpose
from gpusizer.usecases.models_for.live_use import ORDER, ORDER_OF_PURPOSE
from gpusizer.usecases.requests.request_fields import (
    CostFields,
    FilterFields,
    GpuFields,
    Machines,
    QuantFields,
    RigFields,
)
from gpusizer.usecases.requests.workload_fields import SpeculationFields, WorkloadFields


def _read_task(text: str) -> str:
    task = text.lower()
    if task and task not in TASKS:
        raise Refused("not_one_of", choices=", ".join(TASKS))
    return task


_SPELLINGS = {
    "coding": "code",
    "agent": "agents",
    "embedding": "embeddings",
    "images": "pictures",
    "picture": "pictures",
    "image": "pictures",
}


def _once(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _read_licenses(texts: tuple[str, ...]) -> tuple[str, ...]:
    return _once(tuple(text.lower() for text in texts))


class ModelsRequest(QuantFields, GpuFields, RigFields, WorkloadFields, FilterFields, CostFields):
    """A checked request: a GPU or a rig, and the models' use on it."""

    heading: ClassVar[str] = "models"

    unused: ClassVar[frozenset[str]] = frozenset(fields_of(SpeculationFields))

    gpus: Machines = Field(
        (),
        alias="gpu",
        description='a GPU such as "4090" or "2x3090", or a machine: "3090 + 3060 + 64gb ram"',
    )
    models: Annotated[Texts, AfterValidator(_once), Unit("IDS")] = Field(
        (), description="model IDs to look at; without them those that come with gpusizer"
    )
    purpose: Annotated[str, OneOf(PURPOSES, _SPELLINGS)] = Field(
        "",
        description="what it is for: models for it alone, with what boards measured of them,"
        f" ordered by {ORDER_OF_PURPOSE}",
    )
    task: Annotated[Text, AfterValidator(_read_task), Unit("TASK")] = Field(
        "", alias="model_task", description=f"only models for {', '.join(TASKS)}"
    )
    licenses: Annotated[Texts, AfterValidator(_read_licenses)] = Field(
        (),
        alias="license",
        description="only models under these licences, by the Hub's names: apache-2.0, mit,"
        ' gemma, …; "unknown" for those that state none ("licence" is taken as well)',
    )
    fold: Flag = Field(
        True,
        description="one row for each model family and size, with its other repositories as"
        " copies; false, or models named, gives each repository a row;"
        f" rows are ordered by {ORDER}",
    )
    from_disk: Flag = Field(
        False,
        description="of a machine with ram_gb, also list what fits no memory and llama.cpp reads"
        " from the disk for each token, last and with the most tokens/s that disk_gb_per_s allows;"
        " without it left out, as nearly every model runs that way, slowly",
    )
    live: Flag = Field(
        False,
        description="order by what is used now: asks the Hub's listing, in one request; else, and"
        " where that fails, the embedded figures count, with their date",
    )

    @property
    def work(self) -> WorkPurpose | None:
        """Purpose of the models, or None if not stated."""
        return next((purpose for purpose in PURPOSES if purpose == self.purpose), None)

    @property
    def gpu(self) -> str:
        """The requested GPU, with or without a count; "" for a rig."""
        return self.gpus[0] if self.gpus else ""

    @property
    def hardware(self) -> str:
        """The requested rig or GPU, with the number of boards if stated."""
        if self.rig or self.gpu_count is None or parse_gpu_request(self.gpu).count:
            return self.rig or self.gpu
        return f"{self.gpu_count}x {self.gpu}"

    @classmethod
    def of_machines(cls, fields: Mapping[str, object]) -> Self:
        """Return a checked request. A `gpu` such as "3090 + 3060 + 64gb ram" is a rig.

        `licence` is read as `license`. Raises InvalidRequest for invalid fields, and unless exactly
        one GPU or rig is named.
        """
        values = {name: value for name, value in fields.items() if not is_empty(value)}
        if "licence" in values:
            values.setdefault("license", values.pop("licence"))
        gpu = values.get("gpu")
        if isinstance(gpu, str) and is_rig(gpu):
            if "rig" in values:
                raise fail("rig", values["rig"], "gpu_or_rig")
            values["rig"] = values.pop("gpu")
        request = super().of_machines(values)
        if request.rig and request.gpus:
            raise fail("rig", request.rig, "gpu_or_rig")
        if not request.rig and len(request.gpus) != 1:
            reason = "one_gpu" if request.gpus else "empty"
            raise fail("gpu", ", ".join(request.gpus), reason)
        return request


# As the Hub spells them (hub-docs, "Licenses"), and names that publishers give in `license_name`;
# any other can be typed.
LICENSES = (
    *("apache-2.0", "mit", "gemma", "llama2", "llama3.1", "llama3.2", "llama3.3"),
    *("modified-mit", "qwen", "cc-by-nc-4.0"),
)
