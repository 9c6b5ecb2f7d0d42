"""vLLM: more context, bits, layers or GPUs change memory in one direction."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.fit.study import Study
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import Placement, Split
from gpusizer.memory.engines.vllm import version_defaults
from gpusizer.memory.quants import find_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from tests.builders import llama
from tests.each import each
from tests.vllm_models import MODELS, VLLM, architecture, load


@settings(max_examples=80, deadline=None)
@given(
    model=st.sampled_from(MODELS),
    version=st.sampled_from([None, "0.8.5", "0.10.2", "0.19.0"]),
    context=st.integers(1, 120_000),
    more=st.integers(1, 60_000),
    card=st.sampled_from(version_defaults.DEVICE_CLASSES),
    split=st.sampled_from([Split(), Split(2), Split(8), Split(1, 3)]),
)
def test_more_context_never_takes_less(
    model: ModelProfile, version: str | None, context: int, more: int, card: int, split: Split
) -> None:
    placement = Placement(model, Workload(engine_version=version), split, card)
    per_gpu = VLLM.sequence_bytes(placement, context)
    assert VLLM.sequence_bytes(placement, context + more) >= per_gpu
    longest = VLLM.longest_context(placement, per_gpu)
    assert longest is not None
    assert longest >= min(context, architecture(model).max_context or context)


@settings(max_examples=60, deadline=None)
@given(
    quant=st.sampled_from(["bf16", "fp8", "int8", "gptq-int4-g128", "awq-int4-g128", "nvfp4"]),
    split=st.sampled_from([Split(), Split(2), Split(4), Split(8), Split(1, 2), Split(2, 4)]),
    layers=st.integers(2, 40),
)
def test_more_bits_or_layers_or_fewer_gpus_never_take_less(
    quant: str, split: Split, layers: int
) -> None:
    def weights(slug: str, count: int, over: Split) -> int:
        profile = build_profile(llama(layers=count))
        sizes = weight_sizes(profile, find_quant(slug), native=False)
        return load(Placement(profile, split=over), sizes, native=False).per_gpu.likely

    amount = weights(quant, layers, split)
    assert weights("fp32", layers, split) >= amount
    assert weights(quant, layers + 1, split) >= amount
    assert weights(quant, layers, Split()) >= amount


@each("model", MODELS)
def test_a_bigger_card_never_holds_less(model: ModelProfile) -> None:
    """Over the catalogue's cards in order of memory, with the defaults vLLM has on each.

    A100s and the GB10 apart: they keep the defaults of small cards, and so hold more than others
    of their size.
    """
    quant = find_quant("bf16")
    study = Study(model, Workload(), [(quant, False)])
    cards = sorted(
        {
            (g.device_memory_bytes, g.name)
            for g in load_catalogue().gpus
            if not {"A100", "GB10"} & set(g.name.split())
        }
    )
    for split in (Split(), Split(8)):
        rooms = []
        for memory, name in cards:
            card = VLLM.device_class(memory, name)
            memory_estimate = study.estimate(quant, False, VLLM, split, card)
            rooms.append(
                (
                    memory_estimate.spare(memory)[0],
                    memory_estimate.spare(memory)[1],
                )
            )
        for smaller, larger in pairwise(rooms):
            assert larger[0] >= smaller[0] and larger[1] >= smaller[1]
