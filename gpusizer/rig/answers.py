"""A rig's plan as programs read it."""

from __future__ import annotations

from typing import Any

from gpusizer.fit import Verdict
from gpusizer.notes import Say, note_json
from gpusizer.rig.machine import SYSTEM_BYTES, Rig
from gpusizer.rig.plan import RigPlan
from gpusizer.rig.shares import Share


def rig_json(plan: RigPlan, say: Say) -> dict[str, Any]:
    """The `rig` object of a report.

    `devices` come in the order llama.cpp sees them; `verdict` of each is its own, memory is never
    pooled. `ram` is null where the memory is the GPU's; its `headroom_bytes` where nobody said how
    much there is. `gpu_layers` counts the output as one of `of_layers`; `tensor_split` is null
    where llama.cpp's own split by free memory is meant. `flags` are llama-server's.
    """
    made = plan.arranged
    return {
        **machine_json(plan.rig),
        "quant": plan.estimate.quant.slug,
        "native": plan.estimate.native,
        "engine": plan.estimate.engine.slug,
        "verdict": plan.verdict.value,
        "devices": devices_json(plan),
        "ram": ram_json(plan),
        "gpu_layers": made.how.gpu_layers,
        "of_layers": sum(share.layers for share in (*made.devices, made.host)) + 1,
        "tensor_split": None if made.default else list(made.how.split),
        "n_cpu_moe": made.how.cpu_experts,
        "max_context": plan.max_context,
        "decode_tokens_per_second": plan.decode.to_json() if plan.decode else None,
        "flags": list(plan.flags),
        "notes": [note_json(note, say) for note in plan.notes],
    }


def machine_json(rig: Rig) -> dict[str, Any]:
    """The cards, the memory and the backend of a rig."""
    return {
        "gpus": [gpu.slug for gpu in rig.gpus],
        "backend": rig.backend,
        "ram_bytes": None if rig.shares_memory else rig.ram_bytes,
    }


def devices_json(plan: RigPlan) -> list[dict[str, Any]]:
    """What each device holds; devices that nothing is put on hold nothing."""
    rows = []
    made = plan.arranged
    for number, gpu in enumerate(plan.rig.gpus):
        if number >= len(made.devices):
            rows.append({"gpu": gpu.slug, "memory_bytes": gpu.device_memory_bytes, "layers": 0})
            continue
        share, memory = made.devices[number], gpu.device_memory_bytes
        rows.append(
            {
                "gpu": gpu.slug,
                "memory_bytes": memory,
                "layers": share.layers,
                "output": share.output,
                **_share_json(share),
                "headroom_bytes": memory - share.total.likely,
                "verdict": made.verdicts[number].value,
            }
        )
    return rows


def ram_json(plan: RigPlan) -> dict[str, Any] | None:
    """What system memory holds; `reserved_bytes` are taken to be the system's own."""
    rig, host = plan.rig, plan.arranged.host
    if rig.shares_memory:
        return None
    verdict, free = plan.arranged.host_verdict, rig.free_ram_bytes
    return {
        "installed_bytes": rig.ram_bytes,
        "reserved_bytes": SYSTEM_BYTES,
        "layers": host.layers,
        **_share_json(host),
        "headroom_bytes": None if free is None else free - host.total.likely,
        "verdict": None if verdict is None else Verdict(verdict).value,
    }


def _share_json(share: Share) -> dict[str, int]:
    whole = share.total
    return {
        "weights_bytes": share.weights.likely,
        "kv_cache_bytes": share.kv_cache.likely,
        "activations_bytes": share.activations.likely,
        "overhead_bytes": share.overhead.likely,
        "total_bytes": whole.likely,
        "low_bytes": whole.low,
        "high_bytes": whole.high,
    }
