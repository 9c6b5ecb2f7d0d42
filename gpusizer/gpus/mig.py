"""Instances of NVIDIA's MIG as cards: "A100 80GB MIG 1g.10gb".

An instance has a share of the card's memory and bandwidth, and a share of its multiprocessors
(`data/mig_profiles.csv`). Instances share no link with each other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import GIB
from gpusizer.gpus.gpu import Gpu

PROFILE = r"[1-7]g\.\d{1,3}gb"
_NAMED = re.compile(
    rf"(?P<card>.*?\S)[ -]+(?:mig[ -]+)?(?P<profile>{PROFILE})(?:\+\w+(?:\.\w+)?)?", re.IGNORECASE
)

# Most bytes that an instance lacks of its share: of 5, 9.96 and 39.8 GiB `nvidia-smi mig -lgip`
# lists 4.75, 9.75 and 39.50 (NVIDIA's MIG user guide; jbarrow.ai/field_notes/nvidia-mig).
_KEPT_BYTES = 3 * GIB // 8


@dataclass(frozen=True, slots=True)
class MigProfile:
    """Shares of a card that an instance has."""

    memory: Fraction
    multiprocessors: Fraction


def split_profile(text: str) -> tuple[str, str]:
    """Return a name without the profile of an instance, and that profile or "".

    >>> split_profile("A100 80GB MIG 1g.10gb"), split_profile("A100 80GB")
    (('A100 80GB', '1g.10gb'), ('A100 80GB', ''))
    """
    match = _NAMED.fullmatch(text.strip())
    return (match["card"], match["profile"].lower()) if match else (text, "")


def profiles_of(gpu: Gpu) -> Mapping[str, MigProfile]:
    """Return the profiles of a card by name, empty for one without MIG."""
    return _profiles().get(gpu.slug, {})


def instance_bytes(gpu: Gpu, profile: MigProfile) -> int:
    """Return the memory of an instance in bytes."""
    if profile.memory == 1:
        return gpu.device_memory_bytes
    return int(gpu.device_memory_bytes * profile.memory) - _KEPT_BYTES


def mig_instance(gpu: Gpu, name: str) -> Gpu:
    """Return the instance of a card as a card of its own.

    Raises InvalidRequest for a profile that the card does not have.
    """
    profiles = profiles_of(gpu)
    profile = profiles.get(name)
    if profile is None:
        reason = "no_mig_profile" if profiles else "no_mig"
        names = ", ".join(profiles)
        value = f"{gpu.slug} {name}"
        raise InvalidRequest(field="gpu", value=value, reason=reason, gpu=gpu.name, names=names)
    memory = instance_bytes(gpu, profile)
    return part_of(
        gpu,
        slug=f"{gpu.slug}-mig-{name}",
        name=f"{gpu.name} MIG {name}",
        memory_bytes=memory,
        marketing_gb=float(name.partition(".")[2].removesuffix("gb")),
        units=float(profile.multiprocessors),
        bandwidth=float(profile.memory),
        about=Note("mig_instance", gpu=gpu.name, profile=name, memory_bytes=memory),
    )


def part_of(
    gpu: Gpu,
    *,
    slug: str,
    name: str,
    memory_bytes: int,
    marketing_gb: float,
    units: float,
    bandwidth: float,
    about: Note | None = None,
) -> Gpu:
    """Return a part of a card as a card with one device and without a price.

    `units` and `bandwidth` are its shares of the board's multiprocessors and bandwidth; `about` is
    what its reader must know.
    """
    rates = {field: rate * units for field in _RATES if (rate := getattr(gpu, field)) is not None}
    whole = gpu.bandwidth_bytes_per_second
    return replace(
        gpu,
        slug=slug,
        name=name,
        memory_bytes=memory_bytes,
        memory_marketing_gb=marketing_gb,
        memory_basis="rule",
        torch_memory_bytes=None,
        torch_memory_basis=None,
        devices_per_board=1,
        bandwidth_bytes_per_second=whole and whole * bandwidth,
        compute_units=gpu.compute_units and round(gpu.compute_units * units),
        shader_cores=gpu.shader_cores and round(gpu.shader_cores * units),
        tensor_cores=gpu.tensor_cores and round(gpu.tensor_cores * units),
        nvlink=False,
        nvlink_generation=None,
        nvlink_bytes_per_second=None,
        interconnect="",
        interconnect_bytes_per_second=None,
        interconnect_domain=None,
        aliases=(),
        launch=None,
        rent=None,
        street=None,
        similar=None,
        statements=gpu.statements if about is None else (*gpu.statements, about),
        **rates,
    )


@lru_cache(maxsize=1024)  # visitors describe cards of their own
def device_of(gpu: Gpu) -> Gpu:
    """Return one of a board's devices as a card of its own, which shares no link with the others;
    the card itself where it has one."""
    devices = gpu.devices_per_board
    if devices == 1:
        return gpu
    part = part_of(
        gpu,
        slug=f"{gpu.slug}-device",
        name=gpu.name,
        memory_bytes=gpu.device_memory_bytes,
        marketing_gb=gpu.memory_marketing_gb / devices,
        units=1 / devices,
        bandwidth=1 / devices,
    )
    torch = gpu.torch_memory_bytes and gpu.device_torch_memory_bytes
    return replace(part, torch_memory_bytes=torch, torch_memory_basis=gpu.torch_memory_basis)


_RATES = (
    *("fp32_flops", "fp16_vector_flops", "fp16_tensor_flops", "fp16_tensor_fp16acc_flops"),
    *("bf16_flops", "tf32_flops", "int8_ops", "fp8_flops", "fp4_flops"),
)


@cache
def _profiles() -> Mapping[str, Mapping[str, MigProfile]]:
    by_slug: dict[str, dict[str, MigProfile]] = {}
    for slugs, name, profile in read_table(DATA_DIR / "mig_profiles.csv", _profile):
        for slug in slugs:
            by_slug.setdefault(slug, {})[name] = profile
    return by_slug


def _profile(row: TableRow) -> tuple[tuple[str, ...], str, MigProfile]:
    shares = MigProfile(Fraction(row.text("memory_share")), Fraction(row.text("sm_share")))
    return tuple(row.text("gpus").split(";")), row.text("profile"), shares
