"""Ranking: GPUs that fit come first, in smallest counts, sorted by the policy's figure."""

from __future__ import annotations

from typing import Any

from gpusizer.answers.report import Report
from gpusizer.core.units import GIB
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.division import COUNTS, max_boards, split_for
from gpusizer.fit.fit import Verdict
from gpusizer.fit.ranking import Ranked
from gpusizer.memory.engines import ENGINES, Split
from tests.asking import size
from tests.each import each
from tests.sizers import embedded_sizer

LLAMA_8B = "meta-llama/Llama-3.1-8B-Instruct"
SIZER = embedded_sizer()


def report(model: str = LLAMA_8B, **fields: Any) -> Report:
    return size(SIZER, {"model": model, **fields})


def place_of(gpu: str, sized: Report) -> Ranked:
    return next(item for item in sized.ranking if item.fit.gpu.slug == gpu)


def test_each_card_gets_an_engine_that_runs_on_it() -> None:
    sized = report(top=0)
    engines = {
        "rtx-4090-24gb": "vllm",
        "apple-m3-max-128gb": "mlx",
        "quadro-p6000-24gb": "llama.cpp",
        "rx-6900-xt-16gb": "llama.cpp",
    }
    for gpu, engine in engines.items():
        assert place_of(gpu, sized).fit.estimate.engine.slug == engine
    for item in sized.ranking:
        assert runs_on(item.fit.estimate.quant, item.fit.estimate.engine, item.fit.gpu)


def test_announced_cards_are_not_recommended_but_can_be_named() -> None:
    assert not [i for i in report(top=0).ranking if i.fit.gpu.status == "announced"]
    ranking = report(gpu="rubin-r200-288gb").ranking
    assert ranking[0].fit.gpu.status == "announced"


def test_two_dies_do_not_pool_their_memory() -> None:
    """An MI250X is two devices of 64 GB: 16-bit 70B needs two boards, four devices."""
    sized = report("meta-llama/Llama-3.3-70B-Instruct", gpu="MI250X", quant="bf16")
    fit = sized.ranking[0].fit
    assert fit.estimate.split.gpus == fit.count * 2
    assert fit.estimate.per_gpu.total.likely <= fit.gpu.device_memory_bytes


def test_a_quantized_checkpoint_is_not_offered_wider_than_it_is() -> None:
    sized = report("deepseek-ai/DeepSeek-R1", top=0)
    slugs = {item.fit.estimate.quant.slug for item in sized.ranking}
    assert slugs and not slugs & {"fp32", "bf16", "q8_0"}
    stored = report("deepseek-ai/DeepSeek-R1", quant="native", top=0)
    assert place_of("h200-sxm-141gb", stored).fit.count == 8
    assert place_of("h200-sxm-141gb", stored).fit.estimate.quant.slug == "fp8"


def test_a_named_gpu_is_answered_even_where_nothing_fits() -> None:
    item = report("deepseek-ai/DeepSeek-R1", gpu="3070", gpu_count=1).ranking[0]
    assert item.fit.verdict is Verdict.DOES_NOT_FIT
    assert item.fit.headroom_bytes < -200 * GIB
    assert item.reasons[0].code == "verdict_does_not_fit"


def test_a_model_slightly_too_large_can_offload() -> None:
    item = report("Qwen/Qwen3-32B", gpu="1x 4060 Ti 16GB", quant="q4_k_m").ranking[0]
    assert item.fit.verdict is Verdict.OFFLOAD
    note = next(n for n in item.reasons if n.code == "layers_that_fit")
    assert 0 < int(note.fields["layers"]) < 65 == note.fields["of_layers"]
    output = report(
        "Qwen/Qwen3-32B", gpu="1x 4060 Ti 16GB", quant="q4_k_m", gpu_layers=note.fields["layers"]
    ).ranking[0]
    assert output.fit.verdict is Verdict.FITS
    one_more = report(
        "Qwen/Qwen3-32B",
        gpu="1x 4060 Ti 16GB",
        quant="q4_k_m",
        gpu_layers=int(note.fields["layers"]) + 1,
    ).ranking[0]
    assert one_more.fit.verdict is not Verdict.FITS
    everything = output.fit.estimate.sizes.total + 64 * 8192 * 2 * 1024 * 2
    assert int(note.fields["ram_bytes"]) == everything - sum(
        amount.likely
        for amount in (output.fit.estimate.per_gpu.weights, output.fit.estimate.per_gpu.kv_cache)
    )


def test_a_mixture_can_leave_its_experts_in_system_memory() -> None:
    """As few layers as possible keep them there; a plan leaves all of them."""
    item = report("Qwen/Qwen3-30B-A3B", gpu="1x 4060 Ti 16GB", quant="q4_k_m").ranking[0]
    assert item.fit.verdict is Verdict.OFFLOAD
    note = next(n for n in item.reasons if n.code == "some_experts_in_memory")
    spared = report("Qwen/Qwen3-30B-A3B", gpu="1x 4060 Ti 16GB", quant="q4_k_m", cpu_moe=True)
    fit = spared.ranking[0].fit
    assert fit.verdict is Verdict.FITS
    every_expert = fit.estimate.sizes.total - fit.estimate.per_gpu.weights.likely
    assert 0 < int(note.fields["ram_bytes"]) < every_expert
    plan = next(plan for plan in item.plans if plan.kind == "offload_experts")
    assert plan.ram_bytes == every_expert


def test_requested_parallelism_is_used() -> None:
    item = report(gpu="4090", tensor_parallel=2).ranking[0]
    assert (item.fit.count, item.fit.estimate.split) == (2, Split(tensor=2))


@each(
    "engine, gpus, split",
    [
        ("vllm", 1, Split()),
        ("vllm", 8, Split(tensor=8)),
        ("vllm", 16, Split(tensor=8, pipeline=2)),
        ("llama.cpp", 4, Split(pipeline=4)),
        ("mlx", 2, None),
    ],
)
def test_engines_divide_models_their_own_way(engine: str, gpus: int, split: Split | None) -> None:
    profile = report(top=1).profile
    assert split_for(ENGINES[engine], profile, gpus) == split


def test_laptops_and_macs_stay_alone() -> None:
    by_slug = {gpu.slug: gpu for gpu in SIZER.catalogue.gpus}
    assert max_boards(by_slug["rtx-4090-laptop-16gb"]) == 1
    assert max_boards(by_slug["apple-m2-ultra-192gb"]) == 1
    assert max_boards(by_slug["rtx-4090-24gb"]) == 8
    assert max_boards(by_slug["h100-sxm-80gb"]) == COUNTS[-1]


def test_eight_bridged_cards_talk_over_pcie_and_the_answer_says_so_once() -> None:
    """A bridge joins two RTX 3090: the reasons and the line of why agree beyond them."""
    for boards, code in ((2, "why_fabric"), (8, "why_pcie")):
        (place,) = report(gpu=f"{boards}x3090", quant="bf16").ranking
        assert code in [note.code for note in place.why]
        warned = "no_fast_interconnect" in [note.code for note in place.reasons]
        assert warned is (code == "why_pcie")
