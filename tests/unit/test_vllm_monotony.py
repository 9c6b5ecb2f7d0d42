"""vLLM: more context, bits, layers or GPUs change memory in one direction."""

from __future__ import annotations

from itertools import pairwise

from gpusizer.fit.study import Study
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import Split
from gpusizer.memory.quants import find_quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from tests.each import each
from tests.vllm_models import MODELS, VLLM


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
