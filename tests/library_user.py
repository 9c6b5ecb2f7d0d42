"""Code of somebody who uses the library, which `mypy --strict` reads and a test runs."""

from __future__ import annotations

import gpusizer


def most_context(model: str, gpu: str) -> int | None:
    """Return the longest context that a GPU holds, None if it cannot run the model."""
    answer = gpusizer.size(model, gpu=gpu, concurrency=1, offline=True)
    place = answer.ranking[0]
    return place.max_context if place.verdict in ("fits", "tight") else None


def bytes_by_quantization(model: str) -> dict[str, int]:
    """Return the bytes of weights at each quantization."""
    answer: gpusizer.SizeAnswer = gpusizer.size(model, quant=["q4_k_m", "q8_0"], offline=True)
    return {estimate.quant: estimate.weights_bytes for estimate in answer.estimates}


def cards_that_hold(model: str, cards: list[str]) -> list[str]:
    """Return the cards that run a model from their own memory."""
    compared = gpusizer.compare(cards, model=model, offline=True)
    return [item.slug for item in compared.gpus if item.fit and item.fit.verdict == "fits"]


def first_family(card: str) -> str:
    """Return the first model for a card."""
    return gpusizer.models_for(card, purpose="code", offline=True).models[0].repo_id


def bytes_of_a_method(model: str, method: str) -> int:
    """Return the likely bytes of training."""
    return gpusizer.train(model, method=method, offline=True).estimates[0].total_bytes


def waiting_beside(lines: list[str], machine: str) -> list[str]:
    """Return the models that are not loaded beside the others on a machine."""
    found: gpusizer.DeskAnswer = gpusizer.desk(lines, machine, offline=True)
    return [model.repo_id for model in found.models if model.state != "resident"]


def vendor_of(query: str) -> str | None:
    """Return the vendor of the first card that is found; None for no card."""
    found: gpusizer.GpusAnswer = gpusizer.list_gpus(query, max_watts=500)
    return found.gpus[0].vendor if found.gpus else None


def explained(model: str) -> str:
    """Return why a model cannot be sized, in Portuguese; "" if it can."""
    try:
        gpusizer.size(model, offline=True)
    except gpusizer.errors.ModelUnreadable as error:
        return gpusizer.say_error(error, "pt")
    return ""


def misspelled() -> None:
    """Ask with a name that no request has: mypy says so, and the library does."""
    gpusizer.size("Qwen/Qwen3-8B", offline=True, concurency=2)  # type: ignore[call-arg]
