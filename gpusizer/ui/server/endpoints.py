"""Public endpoints: they take JSON and return the contract's JSON, error objects for failures."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

import gradio as gr
from gradio.events import api

from gpusizer.api.base import Document
from gpusizer.api.errors import error_document
from gpusizer.core.errors import GpusizerError
from gpusizer.memory.engines import LLAMA_CPP, VLLM
from gpusizer.text import say_error
from gpusizer.ui.server.answer_cache import Answers, ForVisitor
from gpusizer.ui.server.asker import asker_of
from gpusizer.ui.server.endpoint import Endpoint
from gpusizer.ui.server.metrics import Metrics
from gpusizer.usecases.sizer import Sizer

QUEUE = "hub"

_log = logging.getLogger(__name__)

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
    " first: fits, recent, used, large; for a purpose by what independent boards measured, with"
    " three picks; with quantization, context, speed and copies.",
    parameters=(
        *("gpu", "purpose", "model_task", "context", "concurrency", "quant", "models", "top"),
        *("license", "live"),
    ),
    needed=("gpu",),
    example=f'{{"engine": "{LLAMA_CPP.slug}"}}',
)
DESK = Endpoint(
    name="place_models",
    command="desk",
    summary="Several models on one machine: who lives on which GPU, the options of each server,"
    " what waits, the smallest change that lets all stay loaded, Compose and llama-swap files.",
    parameters=("models", "gpu"),
    needed=("models",),
    example='{"ram_gb": 64, "max_usd": 3000}',
)

# in the order of the documentation
PUBLIC = (SIZE_MODEL, TRAIN_MODEL, LIST_GPUS, COMPARE_GPUS, MODELS_FOR_GPU, DESK)


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
            concurrency_limit=None,  # of the pool (`Answers.asked_by`)
        )


def function_of(
    endpoint: Endpoint, answers: Answers, metrics: Metrics
) -> Callable[..., Awaitable[Document]]:
    """Return the function of an endpoint; it answers failures with error objects."""

    async def call(
        arguments: Mapping[str, object],
        token: gr.OAuthToken | None,
        request: gr.Request | None,
    ) -> Document:
        model = arguments.get("model")
        if endpoint is COMPARE_GPUS:
            model = model or None  # a comparison needs none
        try:
            with metrics.answering(endpoint.command, "gradio"):
                fields = endpoint.fields_of(arguments)
                own = None if token is None else token.token
                answer = await answers.asked_by(asker_of(request), endpoint.command, fields, own)
            return await answers.pool.briefly(answer.json)
        except GpusizerError as error:
            return _explained(error, model)
        except Exception:
            _log.exception("unexpected failure")
            return _explained(GpusizerError(), model)

    return endpoint.function(call)


def _explained(error: GpusizerError, model: object) -> Document:
    return error_document(error, say_error(error), model[:200] if isinstance(model, str) else None)
