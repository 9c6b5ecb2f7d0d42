"""Effort of making a GGUF, AWQ or GPTQ: amounts by hand, published peaks, laws, every door."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpusizer.core.byte_ranges import Amount
from gpusizer.core.messages import Note
from gpusizer.core.paths import DATA_DIR
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.calibrated import CONTEXT, Calibration
from gpusizer.memory.quantizing import (
    Quantizing,
    converter_ram,
    quantizer_ram,
    quantizing,
)
from gpusizer.memory.quants import find_quant
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.model.tensor_roles import Kind
from gpusizer.usecases.quantization_job import QuantizationJob, quantization_job
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.builders import group, llama, tiny, with_tensors
from tests.sizers import embedded_sizer

DENSE, EXPERTS = "meta-llama/Meta-Llama-3-8B", "Qwen/Qwen3-30B-A3B"
GPTQ, AWQ = "gptq-int4-g128", "awq-int4-g128"
PEAKS = [
    json.loads(line)
    for line in (DATA_DIR / "measurements/quantizing.jsonl").read_text().splitlines()
]


def asked(**fields: Any) -> Report:
    return size(embedded_sizer(), fields)


def profile(model: str) -> ModelProfile:
    return asked(model=model, quant="native").profile


def made(model: ModelProfile, quant: str, *calibration: int) -> Quantizing:
    answer = quantizing(
        model, find_quant(quant), Calibration(*calibration) if calibration else None
    )
    assert answer is not None
    return answer


def allocated(making: Quantizing) -> Amount:
    """GPU memory without CUDA's own, as PyTorch counts it."""
    assert making.gpu is not None
    ends = ("low", "likely", "high")
    low, likely, high = (getattr(making.gpu, end) - getattr(CONTEXT, end) for end in ends)
    return Amount(low, likely, high, making.gpu.provenance)


def test_gptq_of_a_dense_layer_by_hand() -> None:
    weights = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)
    inverted = 4 * 14336**2
    need = allocated(made(profile(DENSE), GPTQ))
    assert need.low == weights + 3 * inverted + 4 * 4096 * 14336
    assert need.likely == pytest.approx(weights + 4.1 * inverted + 8 * 4096 * 14336, abs=1)
    hessians = 6 * 4 * 4096**2 + inverted
    most = weights + hessians + 5.5 * inverted + 8 * 4096 * 14336 + 2 * 128256 * 4096
    assert need.high == round(1.1 * most)


def test_gptq_of_a_mixture_holds_a_hessian_for_each_matrix_of_each_expert() -> None:
    attention = 2048 * 4096 * 2 + 2048 * 512 * 2
    experts = 128 * 3 * 2048 * 768
    weights = 2 * (attention + experts + 128 * 2048 + 2 * 2048 + 2 * 128)
    hessians = 4 * (128 * (2 * 2048**2 + 768**2) + 3 * 2048**2 + 4096**2)
    gathered = 4 * 4096**2 + 2 * 4 * 2048 * 4096
    assert allocated(made(profile(EXPERTS), GPTQ)).low == weights + hessians + gathered


def test_awq_of_a_dense_layer_keeps_the_inputs_of_all_samples_on_the_gpu() -> None:
    weights = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)
    scaled = 2 * 2 * 4096 * 14336
    values = (2 * 4096 + 4096 + 14336) + 2 * 4096  # inputs of four blocks, two lists of outputs
    tokens = 256 * 512
    need = allocated(made(profile(DENSE), AWQ))
    assert need.likely == round(weights + scaled + 0.71 * 2 * tokens * values + 22 * 4096 * 14336)


def test_awq_of_a_mixture_keeps_inputs_of_all_experts_in_system_memory() -> None:
    model, tokens = profile(EXPERTS), 256 * 512
    answer = made(model, AWQ)
    values = 2048 + (2 * 2048 + 4096) + 128 * 768
    assert answer.ram is not None
    assert answer.ram.likely == round(
        model.weight_bytes + 0.71 * 2 * tokens * values + 2_000_000_000
    )
    assert Note("quantizing_all_experts") in answer.notes


def test_int8_of_a_dense_layer_is_rounded_as_by_gptq() -> None:
    model = profile(DENSE)
    assert made(model, "int8").gpu == made(model, GPTQ).gpu
    command = named("4090", "int8").command
    assert command is not None
    compile(command.text, "int8", "exec")
    assert 'scheme="W8A8",' in command.text and "GPTQModifier(" in command.text


def test_nvfp4_of_a_dense_layer_by_hand() -> None:
    """The layer, FP32 copies of a sample of 2,048 tokens, and four bytes of its largest matrix."""
    weights = 2 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14336 + 2 * 4096)
    sample = 4 * 2048 * 14336
    need = allocated(made(profile(DENSE), "nvfp4"))
    assert need.low == weights + 2 * sample
    assert need.likely == weights + 4 * 4096 * 14336 + 2 * sample
    command = named("4090", "nvfp4").command
    assert command is not None
    compile(command.text, "nvfp4", "exec")
    assert 'scheme="NVFP4",' in command.text and "num_calibration_samples=20," in command.text


def test_experts_in_mxfp4_are_kept_and_nothing_else_is_made_of_them() -> None:
    """llama.cpp's converter repacks them; llama-quantize refuses to narrow them again."""
    stored = profile("openai/gpt-oss-20b")
    assert made(stored, "mxfp4_moe").ram is not None
    assert made(stored, "mxfp4_moe").notes == ()
    assert made(stored, "q4_k_m").ram is None


def test_the_disk_of_a_gguf_holds_the_wide_file_and_the_result() -> None:
    (wide,) = asked(model=DENSE, quant="gguf-f16").estimates
    (narrow,) = asked(model=DENSE, quant="q4_k_m").estimates
    answer = made(profile(DENSE), "q4_k_m")
    assert (answer.intermediate_bytes, answer.file_bytes) == (wide.file_bytes, narrow.file_bytes)
    assert answer.disk_bytes == wide.file_bytes + narrow.file_bytes
    assert answer.gpu is None
    assert made(profile(DENSE), "gguf-f16").intermediate_bytes == 0


def test_a_gguf_file_has_no_tower() -> None:
    """10 million parameters of a tower of images go to a file of their own (mmproj)."""
    text = llama()
    tower = group("vision_tower.blocks.{}.attn.qkv.weight", (1000, 1000), range(10))
    both = build_profile(with_tensors(text, (*text.components[0].tensors, tower)))
    plain = build_profile(text)
    assert both.parameters - plain.parameters == 10**7
    for slug in ("gguf-f16", "q4_0"):
        assert made(both, slug).file_bytes == made(plain, slug).file_bytes, slug


def test_the_disk_of_a_calibrated_quantization_holds_the_download_and_the_result() -> None:
    (row,) = asked(model=DENSE, quant=GPTQ).estimates
    answer = made(profile(DENSE), GPTQ)
    assert answer.disk_bytes == profile(DENSE).weight_bytes + row.file_bytes


def test_buffers_of_llama_quantize_end_at_eight_gigabytes() -> None:
    vocabulary = 2_000_000_000 // 4096
    need = quantizer_ram(build_profile(llama(vocab=vocabulary)))
    values = vocabulary * 4096
    assert need.low == 8_000_000_000 + 20_000_000
    assert need.high == 10 * values + 300_000_000


@pytest.mark.parametrize("row", PEAKS)
def test_a_published_peak_lies_in_the_band(row: dict[str, Any]) -> None:
    model, measured = profile(row["profile"]), row["measured"]
    if row["step"] in ("gptq", "awq"):
        answer = made(model, row["quant"], row["samples"], row["sequence_length"])
        need, peak = allocated(answer), measured["gpu_allocated_bytes"]
    else:
        step = converter_ram if row["step"] == "converter" else quantizer_ram
        need, peak = step(model), measured["ram_peak_bytes"]
    assert need.low <= peak <= need.high
    embeddings = [g.stored_bytes for g in model.groups if g.kind is Kind.EMBEDDING]
    beside = sum(embeddings) if row.get("embedding_beside") else 0
    assert need.likely + beside == pytest.approx(peak, rel=0.15)


@pytest.mark.parametrize(
    "model, quant", [(model, quant) for model in (DENSE, EXPERTS) for quant in (GPTQ, AWQ)]
)
def test_more_samples_and_longer_ones_never_take_less(model: str, quant: str) -> None:
    steps = [(32, 512), (128, 512), (128, 1024), (512, 2048), (512, 8192)]
    answers = [made(profile(model), quant, *step) for step in steps]
    for name in ("gpu", "ram"):
        for end in ("low", "likely", "high"):
            amounts = [getattr(getattr(answer, name), end) for answer in answers]
            assert amounts == sorted(amounts)


def test_wider_layers_and_vocabularies_never_take_less() -> None:
    small, large = build_profile(tiny()), build_profile(llama())
    for quant in (GPTQ, AWQ, "q4_k_m"):
        for name in ("gpu", "ram"):
            less, more = (getattr(made(model, quant), name) for model in (small, large))
            assert less is more is None or less.likely < more.likely


@pytest.mark.parametrize("quant", ["native", "fp8", "mxfp4", "mlx-4bit", "q4_k_m@unsloth"])
def test_what_is_stored_or_made_otherwise_is_not_offered(quant: str) -> None:
    for row in asked(model=DENSE, quant=quant).estimates:
        assert quantization_job(profile(DENSE), row.estimate) is None


def test_models_that_write_no_text_are_not_offered() -> None:
    encoder = profile("BAAI/bge-large-en-v1.5")
    assert quantizing(encoder, find_quant("q4_k_m")) is None


def test_quantized_weights_have_to_be_widened_first() -> None:
    stored = profile("deepseek-ai/DeepSeek-V3")
    answer = made(stored, AWQ)
    assert answer.gpu is answer.ram is None
    (note,) = answer.notes
    assert note.code == "quantizing_needs_wide"
    assert note.fields["wide_bytes"] == 2 * stored.parameters
    widened = made(stored, "q4_k_m")  # llama.cpp's converter does it itself
    assert widened.ram is not None
    assert widened.notes == (Note("quantizing_widens", stored="fp8"),)


def named(gpu: str, quant: str, model: str = DENSE) -> QuantizationJob:
    (making,) = asked(model=model, gpu=gpu, quant=quant).makings
    return making


@pytest.mark.parametrize(
    "gpu, verdict",
    [
        ("4090", Verdict.FITS),
        ("3060", Verdict.TIGHT),
        ("4060", Verdict.DOES_NOT_FIT),
        ("7900 xtx", None),
    ],
)
def test_a_named_gpu_is_judged(gpu: str, verdict: Verdict | None) -> None:
    assert named(gpu, AWQ).gpu_verdict is verdict


def test_a_gguf_needs_no_gpu() -> None:
    making = named("3060", "q4_k_m")
    assert making.gpu_verdict is None
    assert making.notes[0] == Note("quantizing_cpu")


def test_a_type_that_needs_an_importance_matrix_has_it_computed() -> None:
    command = named("3060", "iq2_xs").command
    assert command is not None
    assert command.text.splitlines()[-2:] == [
        "llama-imatrix -m Meta-Llama-3-8B-BF16.gguf -f calibration.txt -o imatrix.gguf",
        "llama-quantize --imatrix imatrix.gguf Meta-Llama-3-8B-BF16.gguf"
        " Meta-Llama-3-8B-IQ2_XS.gguf IQ2_XS",
    ]


def test_scripts_state_what_was_sized() -> None:
    for quant, model in ((GPTQ, DENSE), ("gptq-int4-g32", EXPERTS), (AWQ, EXPERTS)):
        command = named("4090", quant, model).command
        assert command is not None
        compile(command.text, quant, "exec")
        samples = 256 if quant == AWQ else 512
        assert f"num_calibration_samples={samples}," in command.text
        assert f"group_size={quant.rpartition('g')[2]}, " in command.text
        assert (r"re:.*\.gate$" in command.text) is (model == EXPERTS)
