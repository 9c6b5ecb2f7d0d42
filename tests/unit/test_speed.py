"""The speed model, against sums done by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.measurements import load_profile
from gpusizer.api.ranked_gpu import RankedGpu
from gpusizer.memory.quants import find_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.speed import (
    ModelFacts,
    Rate,
    served_sequences,
    serving_tokens_per_second,
    tokens_per_second,
)
from gpusizer.speed.classes import prefill_classes
from gpusizer.speed.decode import step_cost, step_seconds
from gpusizer.speed.kernels import launches_small_kernels
from gpusizer.speed.links import exchange_seconds, link_of
from gpusizer.speed.prefill import prompt_cost, prompt_token_seconds
from gpusizer.speed.rate import RateBand
from gpusizer.speed.tables import (
    Host,
    Throughput,
    engine_limits,
    find,
    host_of,
    prefill_table,
)
from tests.asking import size
from tests.documents import part
from tests.speed_cases import FACTS, LLAMA, MOE, PACE, SIZER, WORK, card, likely, on, speeds_on


def test_a_step_is_bytes_over_bandwidth_plus_time_per_layer() -> None:
    """An RTX 4090 reads 16 GB at half of 1,008 GB/s in 31.75 ms, 1 GB of cache at the same speed in
    1.98 ms; 32 layers at 0.1 ms take 3.2 ms."""
    cost = step_cost(WORK, card("4090"), 1)
    assert cost is not None
    assert cost.seconds(PACE) == pytest.approx(0.031746 + 0.001984 + 0.0032, rel=1e-4)


def test_each_device_of_a_board_reads_by_its_part_of_the_bandwidth() -> None:
    """Two dies share 1,000 GB/s: one reads 16 GB in 32 ms, both together in 16."""
    dies = replace(card("4090"), devices_per_board=2, bandwidth_bytes_per_second=1e12)
    for ranks, seconds in ((1, 0.032), (2, 0.016)):
        cost = step_cost(replace(WORK, tensor=ranks), dies, 1)
        assert cost is not None
        assert cost.reading == pytest.approx(seconds)


def test_computing_is_a_floor_under_the_reading_of_weights() -> None:
    """512 sequences: 2 x 8e9 x 512 FLOP at 0.70 of 165.2 TFLOPS are 70.8 ms, more than the
    31.7 of reading. Caches take 512 times as long, 511 more sequences 30 us each."""
    cost = step_cost(WORK, card("4090"), 512)
    _, share = find(prefill_table(), "serving", prefill_classes(card("4090")), "16-bit", "")
    assert cost is not None and share.utilization == 0.70
    computing = 2 * 8e9 * 512 / (0.70 * 165.2e12)
    expected = computing + 512 * 0.001984 + 0.0032 + 511 * 3e-5
    assert cost.seconds(PACE) == pytest.approx(expected, rel=1e-3)


def test_a_moe_step_reads_the_experts_somebody_chose() -> None:
    """8 of 128 experts: one user reads 6.25 % of them, 32 users 1 - 0.9375^32 = 87.3 %."""
    assert MOE.step_bytes(1) == pytest.approx(2e9 + 16e9 * 0.0625 + 1e9)
    assert MOE.step_bytes(32) == pytest.approx(2e9 + 16e9 * 0.87319 + 32e9, rel=1e-4)
    cost = step_cost(MOE, card("4090"), 1)
    assert cost is not None
    assert cost.reading == pytest.approx((2e9 + 1e9) / 1008e9)
    assert (cost.layers, cost.expert_layers) == (32, 32)


def test_routing_takes_its_time_in_each_layer_with_experts() -> None:
    """32 layers at 0.1 ms and 0.03 ms more each where experts are chosen: 4.16 ms."""
    pace = replace(PACE, seconds_per_expert_layer=3e-5)
    dense, mixture = (step_cost(work, card("4090"), 1) for work in (WORK, MOE))
    assert dense is not None and mixture is not None
    assert dense.in_layers(pace) == pytest.approx(0.0032)
    assert mixture.in_layers(pace) == pytest.approx(0.00416)


def test_layers_are_counted_by_what_runs_in_them() -> None:
    """A block of Nemotron-H holds attention, Mamba or a feed-forward: 118 blocks are 59 layers of
    others. DeepSeek-V3 has experts in all but its first three of 61 layers."""
    nemotron = ModelFacts.from_profile(load_profile("nvidia/Nemotron-H-56B-Base-8K"), Workload())
    deepseek = ModelFacts.from_profile(load_profile("deepseek-ai/DeepSeek-V3"), Workload())
    assert nemotron is not None and deepseek is not None
    assert (nemotron.layers, nemotron.running_layers, nemotron.expert_layers) == (118, 59, 0)
    assert (deepseek.running_layers, deepseek.expert_layers) == (61, 58)


def test_layers_are_counted_by_the_kernels_that_are_launched_in_them() -> None:
    """A layer of Llama launches 15. DeepSeek-V3 has two norms and four kernels more for its latent
    and three for the shared expert; 54 blocks of Nemotron-H a norm and five more for Mamba; of 40
    layers of Qwen3.6-35B-A3B 10 have two norms more, 30 a norm and twelve kernels for the gated
    delta rule, and all three for the shared expert; Qwen3-8B has two norms more in each of 36."""
    models = {
        "meta-llama/Llama-2-7b-hf": 32,
        "Qwen/Qwen3-8B": 36 + 2 * 36 / 15,
        "deepseek-ai/DeepSeek-V3": 61 + (6 * 61 + 3 * 58) / 15,
        "nvidia/Nemotron-H-56B-Base-8K": 59 + 6 * 54 / 15,
        "Qwen/Qwen3.6-35B-A3B": 40 + (2 * 10 + 13 * 30 + 3 * 40) / 15,
    }
    for model, layers in models.items():
        facts = ModelFacts.from_profile(load_profile(model), Workload())
        assert facts is not None
        assert facts.launched_layers + facts.small_layers == pytest.approx(layers), model
    small = {gpu: launches_small_kernels(card(gpu)) for gpu in ("7900 XTX", "M4 Max 128GB", "4090")}
    assert small == {"7900 XTX": True, "M4 Max 128GB": True, "4090": False}


def test_a_recurrent_state_is_read_and_written_back() -> None:
    """0.2 of 1 GB are states: with the caches half full 0.4 GB of keys and values and 0.4 GB."""
    stateful = replace(WORK, facts=replace(WORK.facts, state_bytes=2 * 10**8))
    cost = step_cost(stateful, card("4090"), 1, filled=0.5)
    assert cost is not None
    assert cost.cache == pytest.approx((0.4e9 + 0.4e9) / 1008e9)


def test_old_schedulers_keep_the_gpu_waiting() -> None:
    """vLLM before 0.8 takes 2 ms of a step and reads its cache at half the speed of weights.

    Until 0.14 it takes 0.4 ms; the newest release, and an unnamed one, nothing.
    """
    assert host_of("vllm", "0.7.3") == Host("first", 0.002, 0.5)
    assert host_of("vllm", "v0.10.1") == Host("second", 0.0004, 1.0)
    assert host_of("vllm", None) == host_of("vllm", "0.20") == Host("third", 0.0, 1.0)
    assert host_of("sglang", "SGLang 0.4.6.post1").seconds == 0.0
    assert host_of("tensorrt-llm", None).generation == "third"
    assert host_of("llama.cpp", "b9000") == Host("", 0.0, 0.8)
    old = {
        release: 1
        / likely(speeds_on(LLAMA, "H100", "bf16", engine="vllm", engine_version=release).decode)
        for release in ("0.7.3", "0.10.1", "0.20.1")
    }
    assert old["0.10.1"] - old["0.20.1"] == pytest.approx(0.0004, rel=0.15)
    assert old["0.7.3"] - old["0.20.1"] > 0.002


def test_a_prompt_is_flop_over_a_share_of_the_peak() -> None:
    """2 x 7e9 FLOP a token at half of 165.2 TFLOPS: 169.5 us; as a mixture at 0.4 of that rate
    423.7 us, and the experts (16 GB x (1 - 0.9375^768), all) are read once for 768 tokens."""
    dense, mixture = (prompt_cost(work, card("4090")) for work in (WORK, MOE))
    assert dense is not None and mixture is not None
    reached = Throughput(0.5, 0.4, 1)
    assert dense.seconds(reached) == pytest.approx(169.49e-6, rel=1e-3)
    fetched = 16e9 / 1008e9 / 768
    assert mixture.seconds(reached) == pytest.approx(423.73e-6 + fetched, rel=1e-3)


@pytest.mark.parametrize(
    ("model", "decoder", "experts"),
    [
        # 3,209,010,688 parameters of the decoder and 671,252,480 of its head; no vision tower.
        ("google/gemma-3-4b-it", 3_209_010_688 + 671_252_480, 0),
        # 2,886,205,440 of embeddings less a table of 262,144 x 35 layers x 256.
        ("google/gemma-3n-E4B-it", 3_980_491_248 + 2_886_205_440 - 262_144 * 35 * 256, 0),
        # A tied head of 635,699,200; no draft layer of 120,599,552.
        ("Qwen/Qwen3.5-4B", 3_570_052_096 + 635_699_200, 0),
        # A head of 926,679,040 beside the embedding; no experts of the draft layer.
        ("deepseek-ai/DeepSeek-V3", 15_264_290_304 + 926_679_040, 653_908_770_816),
    ],
)
def test_decoding_reads_the_decoder_alone(model: str, decoder: int, experts: int) -> None:
    """16-bit weights: two bytes a parameter, but for a few in 32 bits (routers' biases)."""
    sizes = weight_sizes(load_profile(model), find_quant("bf16"), native=False)
    assert sizes.decoding == pytest.approx(2 * decoder, rel=1e-6)
    assert sizes.decoding_experts == 2 * experts


def test_a_prompt_of_text_passes_no_tower() -> None:
    """gemma-3-4b: 3,209,010,688 parameters of the decoder, not its head, not the vision tower."""
    facts = ModelFacts.from_profile(load_profile("google/gemma-3-4b-it"), Workload())
    assert facts is not None
    assert facts.matrix_parameters == 3_209_010_688
    assert facts.head_parameters == 671_252_480


def test_attention_counts_three_times() -> None:
    """Llama-3.1-8B, 6,144 tokens of prompt: 32 layers x 4 x 32 heads x 128 x 3,072 FLOP."""
    report = size(SIZER, {"model": LLAMA, "quant": "bf16"})
    facts = ModelFacts.from_profile(report.profile, report.workload)
    assert facts is not None
    assert facts.attention_flops == 32 * 4 * 32 * 128 * 3072
    assert facts.matrix_parameters == 8_030_261_248 - 2 * 128_256 * 4096
    assert (facts.prompt, facts.answer) == (6144, 2048)
    work = replace(WORK, facts=replace(FACTS, attention_flops=1.4e10))
    cost = prompt_cost(work, card("4090"))
    assert cost is not None
    assert cost.attention == pytest.approx(3 * cost.products)


def test_a_server_reads_prompts_between_steps() -> None:
    """4 users, 768 tokens of prompt and 256 of answer each: 4 x 256 tokens in the time of 4
    prompts and 256 steps, the caches 7/8 full."""
    gpu = card("4090")
    step = step_seconds(WORK, gpu, 4, 0.875)
    prompt = prompt_token_seconds(WORK, gpu, 4)
    assert step is not None and prompt is not None
    expected = 4 * 256 / (4 * 768 * prompt + 256 * step)
    assert serving_tokens_per_second(WORK, gpu, 4) == pytest.approx(expected)
    assert serving_tokens_per_second(WORK, gpu, 0) is None


def test_as_many_are_served_as_the_cache_holds_and_the_engine_takes() -> None:
    assert served_sequences(WORK, 17.9, None) == 17
    assert served_sequences(WORK, 1e6, None) == engine_limits("vllm").max_sequences == 256
    assert served_sequences(WORK, None, 32) == 32
    assert served_sequences(replace(WORK, engine="ollama"), 100.0, None) == 4


def test_every_data_rank_serves_as_many_as_it_takes() -> None:
    """Two ranks: each has its own limit and its own half of the cache's sequences."""
    two = replace(WORK, data=2)
    assert served_sequences(two, 1e6, None) == 2 * 256
    assert served_sequences(two, 1e6, 32) == 2 * 32
    assert served_sequences(two, None, 32) == 2 * 32
    assert served_sequences(two, 9.0, None) == 8  # 4.5 on each
    # 600 users are 300 on each rank, above the engine's own 256
    many = replace(two, facts=replace(FACTS, users=600))
    assert served_sequences(many, 1e6, None) == 600


def test_users_are_spread_over_data_ranks() -> None:
    """A step of two ranks with 63 users takes as long as one rank's with 32; dense weights are
    read by each, routed experts by all GPUs together: of 128 with 8 a token, 63 users read
    1 - 0.9375^63 = 98.3 %, half of them each rank."""
    gpu = card("4090")
    one_rank, two_ranks = step_cost(WORK, gpu, 32), step_cost(replace(WORK, data=2), gpu, 63)
    assert one_rank == two_ranks
    dealt = step_cost(replace(MOE, data=2), gpu, 63)
    assert dealt is not None
    share = (1 - 0.9375**63) / 2
    assert dealt.reading == pytest.approx((2e9 + share * 16e9) / 1008e9, rel=1e-6)
    assert dealt.cache == pytest.approx(32 * 1e9 / 1008e9)


def test_whole_experts_are_read_whole() -> None:
    """One user's 8 experts on 16 GPUs: half of them read one each, none less than that."""
    spread = step_cost(replace(MOE, data=16), card("4090"), 1)
    assert spread is not None
    assert spread.reading == pytest.approx((2e9 + 16e9 / 128) / 1008e9)


def test_data_ranks_read_prompts_side_by_side() -> None:
    """8 users on two ranks: 8 x 256 tokens in the time of 4 prompts and 256 steps."""
    gpu, two = card("4090"), replace(WORK, data=2)
    assert serving_tokens_per_second(two, gpu, 8) == pytest.approx(
        2 * (serving_tokens_per_second(WORK, gpu, 4) or 0)
    )


def test_all_reduces_cost_latency_and_traffic() -> None:
    """2 GPUs, 4,096 wide, 1,000 tokens: a ring moves 8.192 MB through each GPU, twice a layer."""
    fabric, pcie = link_of(card("H100"), 2), link_of(card("4090"), 2)
    assert fabric.fabric and not pcie.fabric
    assert fabric.bytes_per_second == pytest.approx(900e9 / 2 * 0.7)
    assert pcie.bytes_per_second == pytest.approx(64e9 / 2 * 0.4)
    expected = 2 * (55e-6 + 8.192e6 / 12.8e9)
    assert exchange_seconds(card("4090"), 2, 4096, 1000) == pytest.approx(expected)
    assert exchange_seconds(card("4090"), 1, 4096, 1000) == 0
    bridged = card("RTX 3090")
    assert link_of(bridged, 2).fabric and not link_of(bridged, 4).fabric


def test_a_layer_split_is_never_faster_for_one_user() -> None:
    """Measured on 1, 2, 4, 8 RTX 4090: 127.7, 122.6, 117.6, 116.1 tokens/s (Llama-3-8B)."""
    measured = {1: 127.7, 2: 122.6, 4: 117.6, 8: 116.1}
    rates_by_split = {
        n: speeds_on(
            "meta-llama/Meta-Llama-3-8B",
            f"{n}x4090",
            "q4_k_m",
            context=512,
            engine="llama.cpp",
            engine_version="b2780",
        ).decode
        for n in measured
    }
    rates = [likely(rate) for rate in rates_by_split.values()]
    assert rates == sorted(rates, reverse=True)
    for n, rate in rates_by_split.items():
        assert likely(rate) == pytest.approx(measured[n], rel=0.12)


def test_tensor_parallel_is_faster_but_not_by_the_number_of_cards() -> None:
    one_gpu, two_gpus = (likely(speeds_on(LLAMA, f"{n}xH100", "bf16").decode) for n in (1, 2))
    assert one_gpu < two_gpus < 2 * one_gpu


def test_two_4090_with_a_72b_model_as_a_guide_measured() -> None:
    """Qwen2-72B-Instruct GPTQ-Int4 under vLLM: about 15 tokens/s for one user, 300 for 32.

    The band of tensor parallelism was set with the first number in view: both hold a range, and
    are no independent check. The likely values are 1.5 and 2 times what the guide measured.
    """
    model = "Qwen/Qwen2-72B-Instruct"
    run = {"engine": "vllm", "context": 256, "memory_utilization": 0.97, "max_num_seqs": 32}
    run["engine_version"] = "0.5.0"  # of that month
    rate = speeds_on(model, "2x4090", "gptq-int4-g128", **run).decode
    many = speeds_on(model, "2x4090", "gptq-int4-g128", concurrency=32, **run)
    assert rate is not None and many.total is not None
    assert rate.low < 15 < rate.high and rate.likely < 30
    assert many.total.low < 300 < many.total.high
    assert likely(many.total) == pytest.approx(32 * likely(many.per_user), rel=0.01)


def test_users_share_but_a_batch_gives_more_in_all() -> None:
    alone, many = (speeds_on(LLAMA, "H100", "bf16", concurrency=n) for n in (1, 16))
    assert likely(many.decode) == likely(alone.decode)
    assert likely(many.per_user) < likely(alone.per_user)
    assert 8 * likely(alone.total) < likely(many.total) < 16 * likely(alone.total)


def test_the_first_token_waits_for_the_prompt() -> None:
    """6,144 of 8,192 tokens, then one step. Where speed may be low, the wait may be long."""
    speeds = speeds_on(LLAMA, "4090", "q4_k_m")
    seconds = 6144 / likely(speeds.prefill) + 1 / likely(speeds.decode)
    assert likely(speeds.first_token) == pytest.approx(seconds, rel=0.01)
    assert speeds.first_token is not None
    assert speeds.first_token.low < speeds.first_token.likely < speeds.first_token.high


def test_published_runs_lie_in_the_band() -> None:
    """llama.cpp runs of Llama-3.1-8B Q4_K_M on an RTX 4090 report 125 to 150 tokens/s."""
    rate = speeds_on(LLAMA, "4090", "q4_k_m", context=1024).decode
    assert rate is not None and rate.low < 130 < rate.high


def test_unknown_bandwidth_is_an_unknown_speed() -> None:
    speeds = speeds_on(LLAMA, "Ascend 910B", "bf16")
    assert speeds.decode is None and speeds.total is None and speeds.first_token is None
    assert tokens_per_second(WORK, card("Ascend 910B")) is None


def test_encoders_have_no_speed() -> None:
    item = on("BAAI/bge-large-en-v1.5", "4090", "bf16")
    assert item.speeds is None and item.decode is None and item.prefill is None
    assert part(RankedGpu, item)["serving_tokens_per_second"] is None


def test_bands() -> None:
    rate = Rate.banded(123.456, RateBand(0.5, 2.0))
    assert rate == Rate(61.7, 123.0, 247.0)
    assert rate.times(2) == Rate(123.0, 246.0, 494.0)
    assert RateBand(0.5, 2.0).widened(RateBand(0.8, 1.1)) == RateBand(0.4, 2.2)


def test_a_card_without_a_known_peak_has_no_speed_for_many() -> None:
    """One user is bound by bandwidth, a batch by FLOPS, which are unknown for this card."""
    speeds = speeds_on("meta-llama/Llama-3.3-70B-Instruct", "mi308x", "fp8", concurrency=256)
    assert speeds.decode is not None
    assert speeds.total is None and speeds.per_user is None
