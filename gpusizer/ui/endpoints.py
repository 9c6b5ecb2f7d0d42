"""The public endpoints: JSON in, the contract's JSON out, failures as error objects."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from gradio.events import api

from gpusizer.errors import GpusizerError, InvalidRequest
from gpusizer.listing import gpus_json
from gpusizer.report import error_json
from gpusizer.sizer import Fetch, Sizer
from gpusizer.text import say_error, say_note
from gpusizer.training.trainer import train
from gpusizer.ui.kept import KeptAnswers

Json = dict[str, Any]
ForVisitor = Callable[[str], Fetch]
"""From a visitor's Hub token to a source of snapshots with that visitor's rights."""
QUEUE = "hub"
CONCURRENCY = 8
"""Requests answered at once, by the endpoints and the page together."""

_log = logging.getLogger(__name__)


def with_rights(sizer: Sizer, for_visitor: ForVisitor, token: gr.OAuthToken | None) -> Sizer:
    """Reads with the visitor's rights where there is a token, as anybody else without."""
    return sizer if token is None else sizer.reading(for_visitor(token.token))


class Endpoints:
    """The public functions. Their signatures and docstrings are what Gradio documents.

    Gradio fills in `token`, which is no documented parameter: a visitor's own, for this request.
    """

    def __init__(self, sizer: Sizer, for_visitor: ForVisitor) -> None:
        self._sizer = sizer
        self._for_visitor = for_visitor
        self._kept = KeptAnswers(sizer)

    def _sized(self, fields: Mapping[str, Any], token: gr.OAuthToken | None) -> Json:
        """What a visitor may see by rights of their own is not kept."""
        if token is None:
            return self._kept.size(fields)
        return self._of(token).size(fields).to_json(say_note)

    def _of(self, token: gr.OAuthToken | None) -> Sizer:
        return with_rights(self._sizer, self._for_visitor, token)

    def size_model(
        self,
        model: str,
        context: int = 8192,
        concurrency: int = 1,
        quant: str = "all",
        gpu: str = "",
        engine: str = "",
        rank_by: str = "smallest",
        top: int = 20,
        options: dict[str, Any] | None = None,
        token: gr.OAuthToken | None = None,
    ) -> dict[str, Any]:
        """Exact parameters of a Hub model, its memory at every quantization, and ranked GPUs.

        Failures come back as {"error": {"code", "message", ...}}. Sizes are integers of bytes.

        Args:
            model: Model ID or Hub URL, such as "Qwen/Qwen3-8B".
            context: Tokens per sequence, prompt and answer together.
            concurrency: Sequences in flight at once.
            quant: Quantization slugs separated by commas, "native" or "all".
            gpu: GPUs to look at, separated by commas ("4090, 2x3090"); empty ranks the catalogue.
            engine: Engine slug such as "vllm" or "llama.cpp"; empty takes each format's usual one.
            rank_by: "smallest", "cheapest", "fastest", "cheapest_to_run", "cheapest_per_hour",
                "tokens_per_dollar", "tokens_per_watt", "headroom", "training" or "inference".
            top: Ranked GPUs to return, 0 for all.
            options: Any other request field as a JSON object, such as {"kv_dtype": "fp8"} or
                {"vendor": "AMD", "max_usd": 3000, "hours_per_day": 4}.
        """
        fields = {
            "model": model, "context": context, "concurrency": concurrency, "quant": quant,
            "gpu": gpu, "engine": engine, "rank_by": rank_by, "top": top,
        }  # fmt: skip
        return answered(lambda: self._sized(_merged(fields, options), token), model)

    def train_model(
        self,
        model: str,
        method: str = "lora",
        sequence_length: int = 2048,
        micro_batch: int = 1,
        gpu: str = "",
        gpu_count: int = 0,
        sharding: str = "",
        rank_by: str = "smallest",
        top: int = 20,
        options: dict[str, Any] | None = None,
        token: gr.OAuthToken | None = None,
    ) -> dict[str, Any]:
        """Memory of fine-tuning a Hub model, what would save some, ranked GPUs, hours and USD.

        Failures come back as {"error": {"code", "message", ...}}. Sizes are integers of bytes.

        Args:
            model: Model ID or Hub URL, such as "Qwen/Qwen3-8B".
            method: "full", "lora", "qlora" or "dora".
            sequence_length: Tokens of a sequence.
            micro_batch: Sequences per GPU and step.
            gpu: GPUs to look at, separated by commas; empty ranks the catalogue.
            gpu_count: Boards of each GPU; 0 finds the smallest number that holds it.
            sharding: "ddp", "zero1", "zero2", "zero3" or "fsdp"; empty takes ddp, or fsdp.
            rank_by: "smallest", "cheapest" (for the whole run) or "fastest".
            top: Ranked GPUs to return, 0 for all.
            options: Any other training field as a JSON object, such as {"lora_rank": 64,
                "optimizer": "adamw_8bit", "gradient_checkpointing": "none"}.
        """
        fields = {
            "model": model, "method": method, "sequence_length": sequence_length,
            "micro_batch": micro_batch, "gpu": gpu, "gpu_count": gpu_count or None,
            "sharding": sharding, "rank_by": rank_by, "top": top,
        }  # fmt: skip
        return answered(lambda: _train(self._of(token), _merged(fields, options)), model)

    def list_gpus(self, query: str = "", options: dict[str, Any] | None = None) -> dict[str, Any]:
        """The GPU catalogue: memory, rates, power, prices and purpose of each card.

        Args:
            query: Words that the name must contain, such as "rtx 40"; empty lists every GPU.
            options: Filters as a JSON object, such as {"vendor": "AMD", "max_usd": 1000}.
        """
        return answered(lambda: _list(self._sizer, _merged({"query": query}, options)), None)

    def compare_gpus(
        self,
        gpus: list[str],
        model: str = "",
        quant: str = "all",
        context: int = 8192,
        concurrency: int = 1,
        options: dict[str, Any] | None = None,
        token: gr.OAuthToken | None = None,
    ) -> dict[str, Any]:
        """GPUs side by side; with a model also fit, speed and price on each.

        Failures come back as {"error": {"code", "message", ...}}. Sizes are integers of bytes.

        Args:
            gpus: Names such as ["rtx 4090", "2x3090", "m3 max 128gb"].
            model: Model ID or Hub URL; empty compares the hardware alone.
            quant: Quantization slugs separated by commas, "native" or "all".
            context: Tokens per sequence, prompt and answer together.
            concurrency: Sequences in flight at once.
            options: Any other request field as a JSON object, such as {"engine": "vllm"}.
        """
        fields = {
            "gpus": gpus, "model": model, "quant": quant, "context": context,
            "concurrency": concurrency,
        }  # fmt: skip
        return answered(lambda: _compare(self._of(token), _merged(fields, options)), model or None)

    def models_for_gpu(
        self,
        gpu: str,
        model_task: str = "",
        context: int = 8192,
        concurrency: int = 1,
        quant: str = "all",
        models: list[str] | None = None,
        top: int = 20,
        options: dict[str, Any] | None = None,
        token: gr.OAuthToken | None = None,
    ) -> dict[str, Any]:
        """The largest models that a GPU or a machine runs, with quantization, context and speed.

        Failures come back as {"error": {"code", "message", ...}}. Sizes are integers of bytes.

        Args:
            gpu: A GPU such as "4090" or "2x3090", or a machine: "3090 + 3060 + 64gb ram".
            model_task: Only "text", "vision", "embedding", "speech", "image" or "other" models.
            context: Tokens per sequence, prompt and answer together.
            concurrency: Sequences in flight at once.
            quant: Quantization slugs separated by commas, "native" or "all".
            models: Model IDs to look at; empty looks at those that come with gpusizer.
            top: Models to return, 0 for all.
            options: Any other request field as a JSON object, such as {"engine": "llama.cpp"}.
        """
        fields = {
            "gpu": gpu, "model_task": model_task, "context": context, "concurrency": concurrency,
            "quant": quant, "models": models, "top": top,
        }  # fmt: skip
        return answered(lambda: _models_for(self._of(token), _merged(fields, options)), None)


PUBLIC = (
    Endpoints.size_model,
    Endpoints.train_model,
    Endpoints.list_gpus,
    Endpoints.compare_gpus,
    Endpoints.models_for_gpu,
)
"""In the order in which they are described."""


def register_endpoints(sizer: Sizer, for_visitor: ForVisitor) -> None:
    """Register every public endpoint; no listener of a page has one of their names."""
    endpoints = Endpoints(sizer, for_visitor)
    for endpoint in PUBLIC:
        api(
            getattr(endpoints, endpoint.__name__),
            api_name=endpoint.__name__,
            concurrency_id=QUEUE,
            concurrency_limit=CONCURRENCY,
        )


def answered(answer: Callable[[], Json], model: object) -> Json:
    """The answer, or the error object that explains why there is none. Never raises."""
    repo_id = model[:200] if isinstance(model, str) else None
    try:
        return answer()
    except GpusizerError as error:
        return error_json(error, say_error(error), repo_id)
    except Exception:
        _log.exception("unexpected failure")
        internal = GpusizerError()
        return error_json(internal, say_error(internal), repo_id)


def _train(sizer: Sizer, fields: Mapping[str, Any]) -> Json:
    return train(sizer.fetch, sizer.catalogue, fields).to_json(say_note)


def _compare(sizer: Sizer, fields: Mapping[str, Any]) -> Json:
    return sizer.compare(fields).to_json(say_note)


def _models_for(sizer: Sizer, fields: Mapping[str, Any]) -> Json:
    return sizer.models_for(fields).to_json(say_note)


def _list(sizer: Sizer, fields: Mapping[str, Any]) -> Json:
    return gpus_json(sizer.gpus(fields), say_note)


def _merged(fields: Mapping[str, Any], options: object) -> dict[str, Any]:
    """Named fields and options together. Gradio checks no types, so this does."""
    if options is None or options == "":
        return dict(fields)
    if not isinstance(options, dict):
        raise InvalidRequest(field="options", value=str(options)[:80], reason="not_an_object")
    return {**fields, **options}
