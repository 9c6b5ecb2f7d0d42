"""Statements of a model card beside the numbers here: verdicts, reasons, the author's settings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.core.time_budget import TimeBudget
from gpusizer.hub.card_statements import ModelCard, ModelCardStatement
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.text import LANGUAGES, say_note
from gpusizer.ui.presenters.markdown import markdown
from gpusizer.ui.presenters.model_card import model_card_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.model_card.asking import Asking
from gpusizer.usecases.model_card.own_terms import is_about, taken_command
from gpusizer.usecases.model_card.verdicts import MOST_ASKED, CardVerdict, judge
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.request import CompareRequest, SizeRequest
from gpusizer.usecases.sizer import Sizer
from scrapers.readme.model_card import read_card
from tests.asking import size
from tests.documents import written
from tests.gguf_snapshots import file_variant
from tests.sizers import embedded_sizer

MODEL = "Qwen/Qwen3-8B"
URL = f"https://huggingface.co/{MODEL}/blob/main/README.md"
COMMAND = (
    f"```\nvllm serve {MODEL} --tensor-parallel-size 2 --max-model-len 32768"
    " --kv-cache-dtype fp8 --gpu-memory-utilization 0.85 --max-num-seqs 16\n```"
)


def sizer_with(markdown_text: str) -> Sizer:
    """Return a Sizer whose snapshots have this card."""
    sizer = embedded_sizer()
    card = read_card(markdown_text.encode(), MODEL, URL)

    def fetch(ref: ModelRef) -> RepoSnapshot:
        return replace(sizer.fetch(replace(ref, reads_card=True)), card=card)

    return sizer.reading(fetch)


def report(markdown_text: str, **fields: Any) -> Report:
    return size(sizer_with(markdown_text), {"model": MODEL, "top": 1, **fields})


VERDICTS = {
    "agrees": (
        *("It needs about 17 GB of VRAM in BF16.", "It fits on a single RTX 4090."),
        *("In 4-bit it requires 8GB of VRAM.", "Context length: 40,960 tokens"),
        "We recommend a GPU with 24GB of memory.",
    ),
    "needs_more": (
        "It requires 9 GB of GPU memory in BF16.",
        "It fits on a single RTX 3060 12GB.",
        "At 32k context it needs 8 GB of VRAM in BF16.",
    ),
    "needs_less": (
        *("It requires at least 90 GB of GPU memory.", "We recommend 4 x H100 for deployment."),
        "Inference needs 8 GPUs with 80GB of memory.",
    ),
    "not_comparable": (
        *("Qwen3-30B needs 80GB of VRAM.", "Once quantized it runs on a single RTX 3060."),
        *("It needs 8 x RTX 9999 GPUs.", "Inference within 4GB VRAM with layer-by-layer offload."),
        *("```\nlmdeploy serve api_server Qwen/Qwen3-8B --tp 2\n```", COMMAND),
        *("Context length: 1M tokens", "It needs 5 GPUs for inference."),
    ),
}


@pytest.mark.parametrize(
    "verdict, text", [(verdict, text) for verdict in VERDICTS for text in VERDICTS[verdict]]
)
def test_verdicts(verdict: str, text: str) -> None:
    card = report(text).model_card
    assert card is not None
    assert [item.verdict.value for item in card.statements] == [verdict]
    for item in card.statements:
        assert all(say_note(item.reason, language) for language in LANGUAGES)


def test_the_authors_context_and_engine_hold() -> None:
    """The visitor's request says something else, and is answered as before."""
    text = "With vLLM it needs 22 GB of VRAM in BF16 at 32k context."
    with_card = report(text, context=1024, engine="sglang")
    (item,) = with_card.model_card.statements  # type: ignore[union-attr]
    assert item.verdict is CardVerdict.AGREES
    assert (item.reason.fields["context"], item.reason.fields["engine"]) == (32768, "vLLM")
    without = size(
        embedded_sizer(), {"model": MODEL, "top": 1, "context": 1024, "engine": "sglang"}
    )
    assert (with_card.estimates, with_card.ranking) == (without.estimates, without.ranking)


def test_json_has_the_fields_of_the_contract() -> None:
    document = written(report(COMMAND))["model_card"]
    assert document["url"] == URL
    (statement,) = document["statements"]
    assert statement["kind"] == "command" and statement["verdict"] == "not_comparable"
    assert statement["text"].startswith("vllm serve") and statement["line"] == 2
    assert (statement["engine"], statement["tensor_parallel"]) == ("vllm", 2)
    assert (statement["context"], statement["kv_dtype"]) == (32768, "fp8")
    assert statement["vram_gb"] is None and statement["gpu"] is None
    assert statement["is_requirement"] is False
    assert statement["reason"]["fields"]["count"] == 2


def test_no_card() -> None:
    unread = size(embedded_sizer(), {"model": MODEL, "top": 1})
    assert written(unread)["model_card"] is None
    unwanted = written(report(COMMAND, card=False))
    assert "model_card" not in unwanted
    assert written(report("Nothing of interest."))["model_card"]["statements"] == []


def test_as_card_takes_the_arguments_over() -> None:
    as_card = report(COMMAND, as_card=True, context=1024, concurrency=3)
    workload = as_card.workload
    assert (workload.engine, workload.context, workload.tensor_parallel) == ("vllm", 32768, 2)
    assert (workload.kv_dtype, workload.memory_utilization) == ("fp8", 0.85)
    assert (workload.max_num_seqs, workload.concurrency) == (16, 3)
    assert as_card.notes[0].code == "card_command_taken"
    own = {"context": 32768, "engine": "vllm", "tensor_parallel": 2, "kv_dtype": "fp8"}
    own |= {"memory_utilization": 0.85, "max_num_seqs": 16, "quant": "native", "concurrency": 3}
    asked = size(embedded_sizer(), {"model": MODEL, "top": 1, **own})
    assert as_card.estimates == asked.estimates


def test_a_comparison_takes_the_arguments_over_too() -> None:
    asked = CompareRequest.from_fields({"model": MODEL, "gpus": "2x4090", "as_card": True})
    workload = sizer_with(COMMAND).compare(asked).workload
    assert workload is not None
    assert (workload.engine, workload.context) == ("vllm", 32768)


def test_as_card_without_a_command() -> None:
    without = report("It needs 24GB of VRAM.", as_card=True)
    assert without.notes[0].code == "card_no_command"
    assert without.estimates == report("It needs 24GB of VRAM.").estimates


def test_only_some_statements_are_asked() -> None:
    text = "\n\n".join(f"It requires {gb} GB of VRAM in BF16." for gb in range(20, 60))
    card = report(text).model_card
    assert card is not None
    unasked = [item for item in card.statements if item.reason.code == "card_not_asked"]
    assert len(card.statements) - len(unasked) == MOST_ASKED


def test_the_same_said_twice_is_one_statement() -> None:
    card = report("It requires 20 GB of VRAM.\n\nAgain: it requires 20 GB of VRAM.").model_card
    assert card is not None and [item.statement.line for item in card.statements] == [1]


def test_files_of_a_table() -> None:
    """Sizes that authors round, in GB or GiB, beside those of the file list."""
    variants = (file_variant("Q4_K_M", 5_030_000_000), file_variant("Q8_0", 8_710_000_000))
    table = (
        "| Filename | Quant type | File Size |\n|--|--|--|\n"
        "| model-Q4_K_M.gguf | Q4_K_M | 5.03GB |\n| model-Q8_0.gguf | Q8_0 | 8.11GB |\n"
        "| model-Q6_K.gguf | Q6_K | 6.7GB |\n| model-Q8_0.gguf | Q8_0 | 7.5GB |\n"
    )
    request = SizeRequest(model=MODEL)
    sizer = embedded_sizer()
    profile = replace(sizer.profile(request), variants=variants)
    asking = Asking(profile, sizer.catalogue, request, TimeBudget())
    card = read_card(table.encode(), MODEL, URL)
    verdicts = [judge(item, asking).verdict.value for item in card.statements]
    assert verdicts == ["agrees", "agrees", "not_comparable", "needs_more"]


NAMES = [
    ("GLM-4.5", "zai-org/GLM-4.5", True),
    ("GLM-4.5", "zai-org/GLM-4.5-Air", False),
    ("GLM-4.5-Air", "zai-org/GLM-4.5", False),
    ("Falcon-40B", "tiiuae/falcon-40b-instruct", True),
    ("70B", "meta-llama/Llama-2-70b-hf", True),
    ("13B", "meta-llama/Llama-2-70b-hf", False),
    ("zai-org/GLM-4.7-FP8", "zai-org/GLM-4.7-FP8", True),
    (None, "a/b", True),
]


@pytest.mark.parametrize("model, repo_id, expected", NAMES)
def test_which_model_a_statement_is_about(model: str | None, repo_id: str, expected: bool) -> None:
    statement = ModelCardStatement("min_vram", 1, 1, "", model=model)
    assert is_about(statement, repo_id) is expected


def test_the_command_to_take_over_says_how_to_divide() -> None:
    card = read_card(
        b"```\nvllm serve a/b\nvllm serve x/y-70B --tensor-parallel-size 8\n"
        b"vllm serve a/b --tensor-parallel-size 2\n```",
        "a/b",
        "",
    )
    command = taken_command(card.statements, "a/b")
    assert command is not None and command.count == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_section_on_the_page(language: str) -> None:
    words = Words(language)  # type: ignore[arg-type]
    text = f'It requires at least 90 GB of VRAM <b>"now"</b>.\n\n{COMMAND}'
    card = report(text).model_card
    html = model_card_html(card, words, "?model=a/b&as_card=true")
    assert " open" in html and "needs_less" not in html
    assert "?model=a/b&amp;as_card=true" in html and f"{URL}?code=true#L1" in html
    assert words("card.verdict.needs_less") in html and "<b>" not in html
    for nothing in (None, replace(card, statements=(), command=None)):  # type: ignore[type-var]
        folded = model_card_html(nothing, words, "")
        assert " open" not in folded and "href" not in folded


def test_a_quote_does_nothing_in_the_summary() -> None:
    text = report("It requires at least 90 GB of VRAM | ![x](http://x) `now`.")
    summary = markdown(text, Words("en"), "")
    assert "What the author says" in summary and "![x]" not in summary
    assert "\\| " in summary
    assert "What the author says" not in markdown(report("Nothing."), Words("en"), "")


def test_a_card_that_cannot_be_answered_costs_nothing_else() -> None:
    statements = (
        ModelCardStatement("command", 1, 1, "x", engine="vllm", quant="no-such-quant"),
        ModelCardStatement("gpus", 2, 2, "y", gpu="H100", count=1),
    )
    sizer = embedded_sizer()
    card = ModelCard("", statements)
    other = sizer.reading(
        lambda ref: replace(sizer.fetch(replace(ref, reads_card=True)), card=card)
    )
    answer = size(other, {"model": MODEL, "top": 1})
    assert answer.model_card is not None
    assert [item.reason.code for item in answer.model_card.statements] == [
        "card_not_answered",
        "card_gpus_fit",
    ]
