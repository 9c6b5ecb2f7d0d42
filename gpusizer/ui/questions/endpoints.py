"""The public endpoints take JSON and return the contract's JSON, error objects for failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import gradio as gr
from gradio.events import api

from gpusizer.answers.json_shapes import Document
from gpusizer.answers.report import error_json
from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import GpusizerError
from gpusizer.memory.engines import LLAMA_CPP, VLLM
from gpusizer.text import say_error
from gpusizer.ui.questions.answer_cache import Answers, ForVisitor
from gpusizer.ui.questions.endpoint import Endpoint
from gpusizer.ui.questions.metrics import Metrics
from gpusizer.ui.questions.reading import attempt

QUEUE = "hub"
CONCURRENCY = 32
"""Requests that the endpoints take up at the same time, and that each language's page does: more
than compute, since most of them may be waiting for the Hub (core/work_turns.py)."""

SIZE_MODEL = Endpoint(
    name="size_model",
    command="size",
    summary="Exact parameters of a Hub model, its memory at every quantization, and ranked GPUs.",
    parameters=("model", "context", "concurrency", "quant", "gpu", "engine", "rank_by", "top"),
    needed=("model",),
    example='{"kv_dtype": "fp8", "vendor": "AMD", "max_usd": 3000}',
)
TRAIN_MODEL = Endpoint(
    name="train_model",
    command="train",
    summary="Memory of fine-tuning a Hub model, what would save some, ranked GPUs, hours and USD.",
    parameters=(
        "model",
        "method",
        "sequence_length",
        "micro_batch",
        "gpu",
        "gpu_count",
        "sharding",
        "rank_by",
        "top",
    ),
    needed=("model",),
    example='{"lora_rank": 64, "optimizer": "adamw_8bit", "gradient_checkpointing": "none"}',
)
LIST_GPUS = Endpoint(
    name="list_gpus",
    command="gpus",
    summary="The GPU catalogue: memory, rates, power, prices and purpose of each card.",
    parameters=("query",),
    needed=(),
    example='{"vendor": "AMD", "max_usd": 1000}',
    reads_hub=False,
)
COMPARE_GPUS = Endpoint(
    name="compare_gpus",
    command="compare",
    summary="GPUs side by side; with a model also fit, speed and price on each.",
    parameters=("gpus", "model", "quant", "context", "concurrency"),
    needed=("gpus",),
    example=f'{{"engine": "{VLLM.slug}"}}',
)
MODELS_FOR_GPU = Endpoint(
    name="models_for_gpu",
    command="models-for",
    summary="Models worth running on a GPU or a machine, one row per family and size, the best"
    " first: fits, recent, used, large; with quantization, context, speed and copies.",
    parameters=(
        *("gpu", "model_task", "context", "concurrency", "quant", "models", "top"),
        *("license", "live"),
    ),
    needed=("gpu",),
    example=f'{{"engine": "{LLAMA_CPP.slug}"}}',
)
PUBLIC = (SIZE_MODEL, TRAIN_MODEL, LIST_GPUS, COMPARE_GPUS, MODELS_FOR_GPU)
"""All endpoints, in the order of the documentation."""


def with_rights(sizer: Sizer, for_visitor: ForVisitor, token: gr.OAuthToken | None) -> Sizer:
    """Return a Sizer that reads with the visitor's rights, or anonymously without a token."""
    return sizer if token is None else sizer.reading(for_visitor(token.token))


def register_endpoints(answers: Answers, metrics: Metrics) -> None:
    """Register every public endpoint. Listeners of pages have other names."""
    for endpoint in PUBLIC:
        api(
            function_of(endpoint, answers, metrics),
            api_name=endpoint.name,
            concurrency_id=QUEUE,
            concurrency_limit=CONCURRENCY,
        )


def function_of(endpoint: Endpoint, answers: Answers, metrics: Metrics) -> Callable[..., Document]:
    """Return the function of an endpoint; it answers failures with error objects."""

    def call(arguments: Mapping[str, object], token: gr.OAuthToken | None) -> Document:
        def ask() -> Document:
            with metrics.answering(endpoint.command, "gradio"):
                fields = endpoint.fields_of(arguments)
                visitor = None if token is None else token.token
                return answers.ask(endpoint.command, fields, visitor).json()

        model = arguments.get("model")
        if endpoint is COMPARE_GPUS:
            model = model or None  # a comparison needs none
        return answered(ask, model)

    return endpoint.function(call)


def answered(answer: Callable[[], Document], model: object) -> Document:
    """Return the answer, or the error object that explains the failure. Never raises."""
    result = attempt(answer)
    if not isinstance(result, GpusizerError):
        return result
    return error_json(result, say_error(result), model[:200] if isinstance(model, str) else None)
