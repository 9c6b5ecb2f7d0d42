"""The JSON of GPUs: their facts, what they are good for, and what they cost."""

from __future__ import annotations

from gpusizer.answers.json_shapes import Json, Said, fields_of, shape
from gpusizer.core.messages import Say
from gpusizer.core.units import GB, TERA
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts, rental_quote
from gpusizer.gpus.purchase import is_old
from gpusizer.gpus.purpose import Criterion, Purpose, purpose_of


def gpu_json(gpu: Gpu) -> Json:
    """One GPU: its facts, what it is good for and why, and what providers ask for it.

    The unit is in each name: decimal GB/s, TFLOPS, MiB-exact bytes.
    """
    return {
        **{
            name: getattr(gpu, name)
            for name in ("slug", "name", "aliases", "vendor", "segment", "architecture")
        },
        "compute_capability": gpu.compute_capability or None,
        **{
            name: getattr(gpu, name)
            for name in ("release_year", "status", "form_factor", "software")
        },
        **_memory(gpu),
        **_rates(gpu),
        **_links(gpu),
        **{
            name: getattr(gpu, name)
            for name in (
                *("bf16_support", "fp8_support", "fp4_support", "int8_support"),
                *("flash_attention_2", "power_watts"),
            )
        },
        "street_price": gpu.street,
        "launch_price": gpu.launch,
        "launch_price_note": gpu.launch_note,
        "rent_price_per_hour": gpu.rent,
        "market_prices": gpu.market,
        "similar_price": gpu.similar,
        "confidence": gpu.confidence,
        "sources": gpu.sources,
        "notes": gpu.notes,
        "purpose": purpose_of(gpu),
        "rental": rental_quote(gpu),
        "statements": gpu.statements,
    }


def _memory(gpu: Gpu) -> Json:
    return {
        "memory_gb": gpu.memory_marketing_gb,
        "memory_usable_bytes": gpu.memory_bytes,
        "memory_usable_basis": gpu.memory_basis,
        "memory_usable_note": gpu.memory_note,
        "memory_torch_bytes": gpu.torch_memory_bytes or gpu.memory_bytes,
        "memory_torch_basis": gpu.torch_memory_basis or gpu.memory_basis,
        "memory_torch_note": gpu.torch_memory_note or gpu.memory_note,
        "memory_type": gpu.memory_type,
        "memory_bandwidth_gb_per_s": _scaled(gpu.bandwidth_bytes_per_second, GB),
        "unified_memory": gpu.unified_memory,
        "ecc": gpu.ecc,
        "devices_per_board": gpu.devices_per_board,
        "device_memory_usable_bytes": gpu.device_memory_bytes,
        "device_memory_free_bytes": gpu.free_bytes,
    }


def _rates(gpu: Gpu) -> Json:
    rates = {
        "fp32_tflops": gpu.fp32_flops,
        "fp16_tflops": gpu.fp16_flops,
        "fp16_tensor_tflops_dense": gpu.fp16_tensor_flops,
        "fp16_tensor_tflops_dense_fp16_accumulate": gpu.fp16_tensor_fp16acc_flops,
        "bf16_tflops_dense": gpu.bf16_flops,
        "tf32_tflops_dense": gpu.tf32_flops,
        "int8_tops_dense": gpu.int8_ops,
        "fp8_tflops_dense": gpu.fp8_flops,
        "fp4_tflops_dense": gpu.fp4_flops,
    }
    return {name: _scaled(rate, TERA) for name, rate in rates.items()}


def _links(gpu: Gpu) -> Json:
    return {
        "pcie_gb_per_s": _scaled(gpu.pcie_bytes_per_second, GB),
        "nvlink": gpu.nvlink,
        "nvlink_gb_per_s": _scaled(gpu.nvlink_bytes_per_second, GB),
        "interconnect": gpu.interconnect or None,
        "interconnect_gb_per_s": _scaled(gpu.interconnect_bytes_per_second, GB),
        "interconnect_domain": gpu.interconnect_domain,
        "multi_gpu_note": gpu.multi_gpu_note,
    }


def _scaled(amount: float | None, unit: int) -> float | None:
    return None if amount is None else round(amount / unit, 6)


@shape.register
def _purpose(purpose: Purpose, say: Say) -> Json:
    return {**fields_of(purpose), "message": Said(tuple(purpose.notes()), " ")}


@shape.register
def _criterion(criterion: Criterion, say: Say) -> Json:
    return {**fields_of(criterion), "met": criterion.met}


def price_json(costs: PlanCosts) -> Json:
    """The `price` of all boards together; null where no known source has one."""
    rent = costs.rent
    return {
        **bought_json(costs),
        "rent_usd_per_hour": costs.rent_usd_per_hour,
        "rent_low_usd_per_hour": costs.rented("low_usd"),
        "rent_high_usd_per_hour": costs.rented("high_usd"),
        "rent_spot_usd_per_hour": costs.rented("spot_usd"),
        "rent_marketplace_usd_per_hour": costs.rented("marketplace_usd"),
        "rent_providers": rent.providers if rent else (),
        "rent_label_exact": rent.exact if rent else None,
        "rent_is_own": rent.own if rent else None,
        "rent_as_of": rent.as_of if rent else None,
        "usd_per_million_tokens": costs.usd_per_million_tokens,
        "usd_per_million_tokens_owned": costs.usd_per_million_tokens_owned,
        "owned_usd_per_hour": _rounded(costs.owned_usd_per_hour),
        "break_even_months": costs.break_even_months,
        "cheaper": costs.cheaper,
        "running_watts": costs.running_watts,
        "power_supply_watts": costs.power_supply_watts,
        "electricity_usd_per_month": costs.electricity_usd_per_month,
        "tokens_per_second": _rounded(costs.tokens_per_second),
        "assumptions": costs.assumptions,
        "as_of": costs.as_of,
    }


def bought_json(costs: PlanCosts) -> Json:
    """The price to buy, what it stands on, and the prices in other conditions, of all boards."""
    buy, similar = costs.buy, costs.similar
    return {
        "buy_usd": costs.buy_usd,
        "buy_basis": buy.basis if buy else None,
        "buy_as_of": costs.buy_as_of,
        "buy_source": buy.source if buy else None,
        "buy_condition": buy.condition if buy else None,
        "buy_evidence": buy.evidence if buy else None,
        "buy_low_usd": costs.of_all(buy.low_usd) if buy else None,
        "buy_high_usd": costs.of_all(buy.high_usd) if buy else None,
        "buy_providers": buy.providers if buy else (),
        "buy_addresses": buy.addresses if buy else (),
        "buy_is_old": costs.buy_is_old if buy else None,
        "buy_is_weak": costs.buy_is_weak if buy else None,
        "buy_conditions": [
            {
                "condition": price.condition,
                "usd": costs.of_all(price.usd),
                "low_usd": costs.of_all(price.low_usd),
                "high_usd": costs.of_all(price.high_usd),
                "as_of": price.date,
                "evidence": price.evidence,
                "is_old": is_old(price.date, costs.today),
                "is_weak": price.weak,
            }
            for price in costs.market
        ],
        "similar_usd": costs.of_all(similar.usd) if similar else None,
        "similar_low_usd": costs.of_all(similar.low_usd) if similar else None,
        "similar_high_usd": costs.of_all(similar.high_usd) if similar else None,
        "similar_gpus": similar.providers if similar else (),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
