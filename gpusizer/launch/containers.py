"""Containers of servers: image, program, port, and how a machine hands them its GPUs.

Sources: docs.vllm.ai, "Using Docker" and "Using Kubernetes" (images for CUDA and ROCm, `/health`,
shared memory); docs.sglang.io, "Install SGLang"; nvidia.github.io/TensorRT-LLM, "Quick Start
Guide"; docs/docker.md of ggml-org/llama.cpp. GPUs: docs.docker.com/compose/how-tos/gpu-support,
rocm.docs.amd.com "Running ROCm Docker containers", and the device plugins of NVIDIA, AMD and Intel
for Kubernetes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusizer.core.tables import toml_of

HUB_CACHE = "/root/.cache"
"""Folder with downloaded files, in all of these images."""
_WHOLE_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.]*")
_MINOR_VERSION = re.compile(r"\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Container:
    """The image of one engine.

    Attributes:
        images: by software stack, without the tag; or with one where tags name no version.
        program: words of the launch command that start the server; options follow them.
        entrypoint: what the container starts instead of them; empty for the image's own.
        port: where it answers, at `/health` once the weights are loaded.
        listens: options by which it hears other machines.
        follows: more options on all machines of a replica but the first.
        tag: what a tag writes before the version: "v" for `v0.30.0`; None where `images` has tags.
        releases: there is a tag for each `x.y`, as `x.y.0`.
    """

    images: Mapping[str, str]
    program: Sequence[str]
    entrypoint: Sequence[str]
    port: int
    listens: Sequence[str] = ()
    follows: Sequence[str] = ()
    tag: str | None = None
    releases: bool = False

    def image(self, stack: str, version: str) -> str | None:
        """The image for a stack, at the version that was sized where a tag names it, else the
        newest; None where nobody publishes one."""
        image = self.images.get(stack)
        if image is None or self.tag is None:
            return image
        if _WHOLE_VERSION.fullmatch(version):
            return f"{image}:{self.tag}{version}"
        if self.releases and _MINOR_VERSION.fullmatch(version):
            return f"{image}:{self.tag}{version}.0"
        return f"{image}:latest"


@dataclass(frozen=True, slots=True)
class GpuAccess:
    """How containers get GPUs of one software stack.

    Attributes:
        resource: name of a GPU in Kubernetes, as the vendor's device plugin announces it.
        service: keys of a Compose service besides the choice of GPUs.
        variable: environment variable that chooses GPUs; "" where Compose reserves them by number.
    """

    resource: str
    service: Mapping[str, Sequence[str]]
    variable: str = ""


_TABLES = toml_of(__file__)
CONTAINERS = {slug: Container(**row) for slug, row in _TABLES["containers"].items()}
"""By the slug of the engine."""
ACCESS = {stack: GpuAccess(**row) for stack, row in _TABLES["access"].items()}
"""By software stack."""
