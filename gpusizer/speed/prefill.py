"""Reading a prompt: products of matrices, attention, and experts fetched batch by batch."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.gpus import Gpu
from gpusizer.speed.classes import SERVING, board_of, prefill_classes
from gpusizer.speed.kernels import pipelined
from gpusizer.speed.links import exchange_seconds
from gpusizer.speed.tables import Throughput, find, prefill_table
from gpusizer.speed.work import Work

# Weight of attention's FLOP: its kernels reach a third of the rate of other products. From prompts
# of 512 to 16,384 tokens on the same cards, half of them without flash attention.
ATTENTION_COST = 3.0
# Prompt tokens of one pass: vLLM's smallest default of max_num_batched_tokens.
BATCH_TOKENS = {SERVING: 2048}
# Prompt tokens of one pass of other engines: llama.cpp's default ubatch.
USUAL_BATCH_TOKENS = 512
_EIGHT_BITS = frozenset({"fp8", "int8"})


@dataclass(frozen=True, slots=True)
class PromptCost:
    """The parts of a prompt token's seconds that the constants of a class apply to."""

    products: float  # seconds, FLOP of one token's products over the peak
    attention: float  # seconds of its attention, weighted by ATTENTION_COST
    moe: bool  # a mixture of experts, which reaches less
    # seconds of experts read per pass and exchange between GPUs; no constant scales it
    fixed: float
    # share of the time that is left if the GPUs of a layer split work side by side
    pipelined: float = 1.0

    def seconds(self, reached: Throughput) -> float:
        """Return the seconds per token with a class's constants."""
        share = reached.moe_share if self.moe else 1.0
        work = self.products / share + self.attention
        return (work / reached.utilization + self.fixed) * self.pipelined


def prompt_cost(work: Work, gpu: Gpu, waiting: int = 1) -> PromptCost | None:
    """Return the cost of a prompt token; None if the peak or the bandwidth is unknown."""
    # `waiting` prompts may share a pass over the weights; data-parallel ranks make theirs together,
    # each over its part of the experts.
    peak, bandwidth = _peak(work, gpu), gpu.bandwidth_bytes_per_second
    if peak is None or bandwidth is None:
        return None
    facts, cards = work.facts, work.tensor
    devices = cards / gpu.devices_per_board
    each = work.users_each(waiting)
    batch = min(facts.prompt * each, BATCH_TOKENS.get(work.family, USUAL_BATCH_TOKENS))
    share = work.expert_share_each(batch * min(waiting, work.data))
    fetched = work.expert_bytes * share / (bandwidth * devices) / batch
    exchange = exchange_seconds(gpu, cards, facts.hidden, batch) / batch
    side_by_side = 1.0
    if work.kernels.llama_cpp and work.pipeline > 1:
        batches = -(-facts.prompt // USUAL_BATCH_TOKENS)
        side_by_side = pipelined(work.kernels, gpu, work.pipeline, batches)
    return PromptCost(
        products=2 * facts.matrix_parameters / (peak * devices),
        attention=ATTENTION_COST * facts.attention_flops / (peak * devices),
        moe=work.is_moe,
        fixed=fetched + facts.layers * exchange,
        pipelined=side_by_side,
    )


def prompt_token_seconds(work: Work, gpu: Gpu, waiting: int = 1) -> float | None:
    """Return the seconds per prompt token, with the constants of that class."""
    cost = prompt_cost(work, gpu, waiting)
    return None if cost is None else cost.seconds(reached_on(work, gpu))


def reached_on(work: Work, gpu: Gpu) -> Throughput:
    """Return the constants of that engine, format and class of GPU."""
    return prompts_as_on(work, gpu)[1]


def prompts_as_on(work: Work, gpu: Gpu) -> tuple[str, Throughput]:
    """Return the class whose constants apply, and the constants."""
    classes, board = prefill_classes(gpu), board_of(gpu)
    return find(prefill_table(), work.family, classes, work.format, board)


def flops_per_second(work: Work, gpu: Gpu) -> float | None:
    """Return the FLOP/s of products that prompts reach, over the tensor-parallel group."""
    peak = _peak(work, gpu)
    if peak is None:
        return None
    reached = reached_on(work, gpu)
    share = reached.moe_share if work.is_moe else 1.0
    return peak * work.tensor / gpu.devices_per_board * reached.utilization * share


def _peak(work: Work, gpu: Gpu) -> float | None:
    return arithmetic_of(work, gpu)[1]


def arithmetic_of(work: Work, gpu: Gpu) -> tuple[str, float | None]:
    """Return the arithmetic of serving engines and its dense peak on the board.

    One of "fp4", "8-bit", "16-bit", or "unpacked" for weights of fewer bits in 16.
    """
    # W8A8 formats run on FP8 or INT8 units and NVFP4 on FP4 units if there are any. Local engines
    # unpack weights first, or their integer kernels are part of the measured share.
    peak, unpacked = gpu.fp16_flops, "16-bit" if work.bits >= 16 else "unpacked"
    if work.family != SERVING:
        return unpacked, peak
    if work.quant == "nvfp4" and gpu.fp4_flops:
        return "fp4", gpu.fp4_flops
    if work.quant in _EIGHT_BITS:
        narrow = gpu.fp8_flops if work.quant == "fp8" else gpu.int8_ops
        return ("8-bit", narrow) if narrow else (unpacked, peak)
    return unpacked, peak
