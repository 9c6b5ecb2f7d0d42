"""The JSON of GPUs: their facts, what they are good for, and what they cost; and of a machine that
a request describes, with the best way to run a model there."""

from __future__ import annotations

from gpusizer.advice.ranking import Ranked
from gpusizer.core.byte_ranges import total
from gpusizer.core.units import GB, TERA
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import SYSTEM_BYTES, Machine
from gpusizer.fit.placement.device_shares import DeviceShare
from gpusizer.fit.way import Way, headroom_on
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts, rental_quote
from gpusizer.gpus.purpose import purpose_of
from gpusizer.launch.llama_cpp import machine_flags
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.workload import Workload
from gpusizer.usecases.contract.objects import GpuJson
from gpusizer.usecases.json_shapes import Json, parts, rounded, written


def gpu_json(gpu: Gpu) -> Json:
    """One GPU: its facts, what it is good for and why, and what providers ask for it.

    The unit is in each name: decimal GB/s, TFLOPS, MiB-exact bytes.
    """
    return written(
        GpuJson,
        gpu,
        memory_gb=gpu.memory_marketing_gb,
        memory_usable_bytes=gpu.memory_bytes,
        memory_usable_basis=gpu.memory_basis,
        memory_usable_note=gpu.memory_note,
        device_memory_usable_bytes=gpu.device_memory_bytes,
        device_memory_free_bytes=gpu.free_bytes,
        street_price=gpu.street,
        launch_price=gpu.launch,
        launch_price_note=gpu.launch_note,
        rent_price_per_hour=gpu.rent,
        similar_price=gpu.similar,
        memory_bandwidth_gb_per_s=_scaled(gpu.bandwidth_bytes_per_second, GB),
        pcie_gb_per_s=_scaled(gpu.pcie_bytes_per_second, GB),
        nvlink_gb_per_s=_scaled(gpu.nvlink_bytes_per_second, GB),
        interconnect_gb_per_s=_scaled(gpu.interconnect_bytes_per_second, GB),
        fp32_tflops=_scaled(gpu.fp32_flops, TERA),
        fp16_tflops=_scaled(gpu.fp16_flops, TERA),
        fp16_tensor_tflops_dense=_scaled(gpu.fp16_tensor_flops, TERA),
        fp16_tensor_tflops_dense_fp16_accumulate=_scaled(gpu.fp16_tensor_fp16acc_flops, TERA),
        bf16_tflops_dense=_scaled(gpu.bf16_flops, TERA),
        tf32_tflops_dense=_scaled(gpu.tf32_flops, TERA),
        int8_tops_dense=_scaled(gpu.int8_ops, TERA),
        fp8_tflops_dense=_scaled(gpu.fp8_flops, TERA),
        fp4_tflops_dense=_scaled(gpu.fp4_flops, TERA),
        compute_capability=gpu.compute_capability or None,
        interconnect=gpu.interconnect or None,
        memory_torch_bytes=gpu.torch_memory_bytes or gpu.memory_bytes,
        memory_torch_basis=gpu.torch_memory_basis or gpu.memory_basis,
        memory_torch_note=gpu.torch_memory_note or gpu.memory_note,
        purpose=purpose_of(gpu),
        rental=rental_quote(gpu),
    )


def _scaled(amount: float | None, unit: int) -> float | None:
    return None if amount is None else round(amount / unit, 6)


def price_json(costs: PlanCosts) -> Json:
    """The `price` of all boards together; null where no known source has one."""
    rent = costs.rent
    ends = ("low", "high", "spot", "marketplace")
    return {
        **bought_json(costs),
        **{f"rent_{end}_usd_per_hour": costs.rented(f"{end}_usd") for end in ends},
        **parts(costs, "rent_usd_per_hour", "usd_per_million_tokens"),
        **parts(costs, "usd_per_million_tokens_owned", "break_even_months", "cheaper"),
        **parts(costs, "running_watts", "power_supply_watts", "electricity_usd_per_month"),
        **parts(costs, "assumptions", "as_of"),
        "rent_providers": rent.providers if rent else (),
        "rent_label_exact": rent and rent.exact,
        "rent_is_own": rent and rent.own,
        "rent_as_of": rent and rent.as_of,
        "owned_usd_per_hour": rounded(costs.owned_usd_per_hour),
        "tokens_per_second": rounded(costs.tokens_per_second),
    }


def bought_json(costs: PlanCosts) -> Json:
    """The price to buy of all boards, and what it stands on."""
    buy, similar = costs.buy, costs.similar
    return {
        **parts(costs, "buy_usd", "buy_as_of"),
        **parts(costs if buy else None, "buy_is_old"),
        **{
            f"buy_{name}": value
            for name, value in parts(buy, "basis", "source", "condition").items()
        },
        "buy_low_usd": costs.of_all(buy.low_usd) if buy else None,
        "buy_high_usd": costs.of_all(buy.high_usd) if buy else None,
        "buy_providers": buy.providers if buy else (),
        "buy_addresses": buy.addresses if buy else (),
        **{f"similar_{name}": similar and costs.of_all(getattr(similar, name)) for name in _USD},
        "similar_gpus": similar.providers if similar else (),
    }


_USD = ("usd", "low_usd", "high_usd")


def machine_json(machine: Machine) -> Json:
    """The cards, the memory and the backend of a machine."""
    return {
        "gpus": [gpu.slug for gpu in machine.gpus],
        "backend": machine.backend,
        "ram_bytes": None if machine.shares_memory else machine.ram_bytes,
    }


def rig_json(place: Ranked, workload: Workload) -> Json:
    """The `rig` object of a report.

    `devices` come in the order that software sees them; `verdict` of each is its own, memory is
    never pooled. `ram` is null where the memory is the GPU's; its `headroom_bytes` where nobody
    said how much there is. `gpu_layers` counts the output as one of `of_layers`, and is null with
    `tensor_split` under engines that divide the model evenly; `tensor_split` is null too where
    llama.cpp's own split by free memory is meant. `disk` says what a token reads from the disk
    where the verdict is "from_disk". `flags` are llama-server's.
    """
    way = place.fit.way
    arranged = way.arranged
    how = arranged and arranged.how
    return {
        **machine_json(way.machine),
        **parts(way, "verdict"),
        "quant": way.estimate.quant.slug,
        "native": way.estimate.native,
        "engine": way.estimate.engine.slug,
        "quality": quality_at(way.estimate),
        "devices": devices_json(way),
        "ram": ram_json(way),
        **parts(how, "gpu_layers"),
        **parts(arranged, "of_layers", "disk"),
        "tensor_split": how.split if how and arranged and not arranged.default else None,
        "n_cpu_moe": how.cpu_experts if how else 0,
        "max_context": place.longest_context,
        "decode_tokens_per_second": place.decode,
        "flags": machine_flags(workload, way),
        "notes": (*way.machine.notes, *place.reasons),
    }


def devices_json(way: Way) -> list[Json]:
    """The share of each device; unused devices have no layers."""
    if way.in_turns is not None:
        left = headroom_on(way.gpu, way.in_turns)
        facts = {**_amounts_json(way.in_turns.per_gpu), "headroom_bytes": left}
        return [{**_device_json(gpu), **facts, **parts(way, "verdict")} for gpu in way.machine.gpus]
    if way.arranged is None:
        amounts = _amounts_json(way.estimate.per_gpu)
        facts = {**amounts, **parts(way, "headroom_bytes", "verdict")}
        return [{**_device_json(gpu), **facts} for gpu in way.machine.gpus]
    rows = []
    for number, gpu in enumerate(way.machine.gpus):
        if number >= len(way.arranged.devices):
            rows.append({**_device_json(gpu), "layers": 0})
            continue
        share = way.arranged.devices[number]
        rows.append(
            {
                **_device_json(gpu),
                **parts(share, "layers", "output"),
                **_amounts_json(share),
                "headroom_bytes": gpu.device_free_bytes - share.total.likely,
                "verdict": way.arranged.verdicts[number],
            }
        )
    return rows


def _device_json(gpu: Gpu) -> Json:
    memory, free = gpu.device_memory_bytes, gpu.device_free_bytes
    return {"gpu": gpu.slug, "memory_bytes": memory, "free_bytes": free}


def ram_json(way: Way) -> Json | None:
    """What system memory holds; `reserved_bytes` are taken to be the system's own."""
    machine, arranged = way.machine, way.arranged
    if machine.shares_memory:
        return None
    facts = {"installed_bytes": machine.ram_bytes, "reserved_bytes": SYSTEM_BYTES}
    if arranged is None:
        # Every component of a pipeline starts in system memory and returns to it.
        held = way.in_turns.sizes.total if way.in_turns else way.estimate.host_bytes
        amounts: Json = {"weights_bytes": held, "total_bytes": held}
    else:
        held = arranged.host.total.likely
        amounts = {**parts(arranged.host, "layers"), **_amounts_json(arranged.host)}
        amounts["verdict"] = arranged.host_verdict
    left = None if machine.free_ram_bytes is None else machine.free_ram_bytes - held
    return {**facts, **amounts, "headroom_bytes": left}


def _amounts_json(held: Breakdown | DeviceShare) -> Json:
    outside = (held.outside,) if isinstance(held, Breakdown) else ()
    return {
        "weights_bytes": held.weights.likely,
        "kv_cache_bytes": held.kv_cache.likely,
        "activations_bytes": held.activations.likely,
        "overhead_bytes": total((held.overhead, *outside)).likely,
        "total_bytes": held.total.likely,
        "low_bytes": held.total.low,
        "high_bytes": held.total.high,
    }
