"""Containers of servers: image, program, port, and access to the machine's GPUs.

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

HUB_CACHE = "/root/.cache"  # folder with downloaded files, in all of these images
_WHOLE_VERSION = re.compile(r"\d+\.\d+\.\d+[\w.]*")
_MINOR_VERSION = re.compile(r"\d+\.\d+")


@dataclass(frozen=True, slots=True)
class Container:
    """The image of one engine."""

    # By software stack, without the tag; with one if tags name no version.
    images: Mapping[str, str]
    # Words of the launch command that start the server; options follow them.
    program: Sequence[str]
    entrypoint: Sequence[str]  # words that the container starts instead; empty for the image's own
    port: int  # port of its answers, at `/health` once the weights are loaded
    listens: Sequence[str] = ()  # options to accept connections from other machines
    follows: Sequence[str] = ()  # more options on all machines of a replica but the first
    # Prefix of the version in a tag: "v" for `v0.30.0`; None if `images` has tags.
    tag: str | None = None
    releases: bool = False  # there is a tag for each `x.y`, as `x.y.0`

    def image(self, stack: str, version: str) -> str | None:
        """Return the image for a stack; None if none is published."""
        # The image has the version that was sized if a tag names it, else the newest.
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
    """Options that give containers the GPUs of one software stack."""

    resource: str  # name of a GPU in Kubernetes, as the vendor's device plugin announces it
    service: Mapping[str, Sequence[str]]  # keys of a Compose service, beside the choice of GPUs
    # Environment variable that chooses GPUs; "" if Compose reserves them by number.
    variable: str = ""


_TABLES = toml_of(__file__)
# By the slug of the engine.
CONTAINERS = {slug: Container(**row) for slug, row in _TABLES["containers"].items()}
# By software stack.
ACCESS = {stack: GpuAccess(**row) for stack, row in _TABLES["access"].items()}
