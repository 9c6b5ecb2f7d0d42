"""The smallest boards that hold a model: those of an exhaustive search, by fewer searches."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gpusizer.advice import candidates
from gpusizer.advice.candidates import candidates_of, smallest_boards
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.study import Study
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu, load_catalogue
from gpusizer.memory.quants import find_quant
from gpusizer.usecases.requests.request import SizeRequest
from tests.sizers import embedded_sizer

GPUS = [gpu for gpu in load_catalogue().gpus if gpu.segment in ("consumer", "datacenter")]
MODELS = ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-R1")
PRECISIONS = (("bf16",), ("q8_0", "fp8"), ("q4_k_m", "awq-int4-g128"))


def study_of(model: str, quants: Sequence[str]) -> Study:
    """Return the study of a model at some quantizations, whatever they lose."""
    question = embedded_sizer().question(SizeRequest.from_fields({"model": model}))
    return question.study.with_fixed_quants([(find_quant(quant), False) for quant in quants])


def size_of(config: RunConfig, speed: float | None) -> tuple[int, bool, float, float]:
    slow = config.estimate.engine.abilities.launches_kernels
    return config.boards, slow, config.gpu.memory_marketing_gb, -(speed or 0.0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("quants", PRECISIONS)
def test_no_other_gpu_is_smaller(model: str, quants: Sequence[str]) -> None:
    study = study_of(model, quants)
    every = candidates_of(study, [(gpu, None) for gpu in GPUS], "smallest")
    sizes = [size_of(c.config, c.speed) for c in every if c.config.verdict is Verdict.FITS]
    found = smallest_boards(study_of(model, quants), GPUS)
    assert (found is None) == (not sizes)
    if found is not None:
        assert found.config.verdict is Verdict.FITS
        assert size_of(found.config, found.speed) == min(sizes)


def test_most_gpus_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Qwen3-8B in BF16 takes 14 GB without its embedding, more than smaller cards have."""
    searched: list[Gpu] = []
    search = candidates.best_on_boards

    def counted(study: Study, gpu: Gpu, counts: Sequence[int] | None = None) -> RunConfig | None:
        searched.append(gpu)
        return search(study, gpu, counts)

    monkeypatch.setattr(candidates, "best_on_boards", counted)
    assert smallest_boards(study_of("Qwen/Qwen3-8B", ("bf16",)), GPUS) is not None
    assert len(searched) < len(GPUS) / 4
    assert min(gpu.memory_bytes for gpu in searched) > 12 * 2**30


def test_a_model_that_no_boards_hold_has_none() -> None:
    small = [gpu for gpu in GPUS if gpu.memory_marketing_gb <= 4]
    assert smallest_boards(study_of("deepseek-ai/DeepSeek-R1", ("bf16",)), small) is None
