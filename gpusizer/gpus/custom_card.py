"""Cards outside the catalogue, described by their owner: "custom:96GB@1800GB/s@200TFLOPS".

After the memory, each once and in any order: bandwidth (GB/s), dense 16-bit rate (TFLOPS), price
(USD), power (W), software stack and narrow formats that it computes in.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, fields

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.loose_values import Arguments
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, TERA, significant
from gpusizer.gpus.gpu import Gpu, Price
from gpusizer.gpus.own_memory import AMOUNT, UNITS
from gpusizer.gpus.purchase import current_day

PREFIX = "custom:"
STACKS = {"cuda": "CUDA", "rocm": "ROCm", "metal": "Metal", "oneapi": "oneAPI"}
ASSUMED_STACK = "CUDA"
STATED = "stated in the request"
FORMATS = ("fp8", "fp4", "int8")

_LEAST_BYTES, _MOST_BYTES = 10**9, 16 * 10**12
_NUMBER = r"(\d{1,7}(?:\.\d{1,3})?) ?"
# Field of the description -> its form, factor to the unit inside, least and most.
_RATES: dict[str, tuple[re.Pattern[str], float, float, float]] = {
    "bandwidth": (re.compile(rf"{_NUMBER}GB/s", re.IGNORECASE), GB, 1, 100_000),
    "flops": (re.compile(rf"{_NUMBER}TFLOPS", re.IGNORECASE), TERA, 0.1, 100_000),
    "usd": (re.compile(rf"{_NUMBER}USD", re.IGNORECASE), 1, 1, 10_000_000),
    "watts": (re.compile(rf"{_NUMBER}W", re.IGNORECASE), 1, 1, 100_000),
}


def is_custom(text: str) -> bool:
    """Return whether a text describes a card instead of naming one."""
    return text.strip().casefold().startswith(PREFIX)


def custom_card(text: str) -> Gpu:
    """Return the card that a text describes.

    Raises InvalidRequest for another form and for figures out of range.
    """
    parts = [part.strip() for part in text.strip()[len(PREFIX) :].split("@")]
    memory = _memory(parts[0], text)
    figures: dict[str, float] = {}
    stack: str | None = None
    formats: list[str] = []
    for part in parts[1:]:
        word = part.casefold()
        if word in STACKS and stack is None:
            stack = STACKS[word]
        elif word in FORMATS and word not in formats:
            formats.append(word)
        else:
            name, value = _rate(part, text)
            if name in figures:
                raise _form(text)
            figures[name] = value
    return _gpu(PREFIX + "@".join(parts), memory, figures, stack, tuple(formats))


def _memory(part: str, text: str) -> int:
    match = re.fullmatch(AMOUNT, part, re.IGNORECASE)
    if match is None:
        raise _form(text)
    amount = round(float(match[1]) * UNITS[match[2].lower()])
    if not _LEAST_BYTES <= amount <= _MOST_BYTES:
        raise _out_of_range(part, _LEAST_BYTES / GB, _MOST_BYTES / GB)
    return amount


def _rate(part: str, text: str) -> tuple[str, float]:
    for name, (form, unit, low, high) in _RATES.items():
        match = form.fullmatch(part)
        if match is not None:
            number = float(match[1])
            if not low <= number <= high:
                raise _out_of_range(part, low, high)
            return name, number * unit
    raise _form(text)


def _form(text: str) -> InvalidRequest:
    return InvalidRequest(field="gpu", value=text[:80], reason="custom_card_form")


def _out_of_range(part: str, low: float, high: float) -> InvalidRequest:
    return InvalidRequest(
        field="gpu", value=f"{PREFIX}{part}"[:80], reason="out_of_range", low=low, high=high
    )


def _gpu(
    slug: str, memory: int, figures: dict[str, float], stack: str | None, formats: tuple[str, ...]
) -> Gpu:
    gb, usd = significant(memory / GB), figures.get("usd")
    values: Arguments = {
        **_UNKNOWN,
        **(_MAC if stack == "Metal" else _CARD),
        "slug": slug,
        "name": f"Custom card, {gb:g} GB",
        "memory_bytes": memory,
        "memory_marketing_gb": gb,
        "bandwidth_bytes_per_second": figures.get("bandwidth"),
        "fp16_tensor_flops": figures.get("flops"),
        "power_watts": figures.get("watts"),
        "software": stack or ASSUMED_STACK,
        "release_year": current_day().year,
        **{f"{name}_support": name in formats for name in FORMATS},
        "street": None if usd is None else Price(usd, "own", STATED, None),
        "statements": _statements(memory, figures, stack, formats),
    }
    return Gpu(**values)


def _statements(
    memory: int, figures: dict[str, float], stack: str | None, formats: tuple[str, ...]
) -> tuple[Note, ...]:
    # Assumptions made from the description alone, and what stays unknown.
    notes = [Note("custom_card", memory_bytes=memory, stack=stack or ASSUMED_STACK)]
    if stack is None:
        notes.append(Note("custom_card_stack", stack=ASSUMED_STACK))
    missing = [name.upper() for name in FORMATS if name not in formats]
    if missing:
        notes.append(Note("custom_card_formats", formats=", ".join(missing)))
    if "bandwidth" not in figures:
        notes.append(Note("custom_card_bandwidth"))
    if "flops" not in figures:
        notes.append(Note("custom_card_flops"))
    return tuple(notes)


# Graphics cards go into a slot; Metal is the stack of whole computers.
_CARD = {"segment": "custom", "form_factor": "PCIe"}
_MAC = {"segment": "apple", "form_factor": "SoC"}
_UNSAID = {"str": "", "bool": False}  # by a field's type; None for every other
# Fields that a description leaves unset. No vendor, so that no rule of a vendor applies.
_UNKNOWN: Arguments = {
    **{item.name: _UNSAID.get(str(item.type)) for item in fields(Gpu) if item.default is MISSING},
    "vendor": "custom",
    "memory_basis": "stated",
    "ecc": "no",
    "devices_per_board": 1,
    "bf16_support": True,
    "flash_attention_2": "unknown",
    "status": "current",
    "confidence": "low",
    "sources": STATED,
}
