"""Fields of the answer to `GET /api/models/{repo_id}`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.hub_emulator import refusals
from tests.hub_emulator.files import FakeFile
from tests.hub_emulator.messages import Request
from tests.hub_emulator.repos import FakeRepo, object_id
from tests.hub_emulator.safetensors_files import MALFORMED

# Sent without being asked for; the order is the Hub's.
DEFAULT_FIELDS = (
    *("modelId", "author", "sha", "lastModified", "private", "gated", "disabled"),
    *("pipeline_tag", "library_name", "tags", "downloads", "likes", "model-index"),
    *("cardData", "config"),
    *("gguf", "safetensors", "siblings", "createdAt", "usedStorage"),
)
# Names that `expand` takes without this emulator knowing a value: they are left out.
# huggingface_hub, ExpandModelProperty_T.
_VALUELESS = {
    *("childrenModelCount", "downloadsAllTime", "evalResults", "gguf", "inference"),
    *("inferenceProviderMapping", "mask_token", "model-index", "resourceGroup", "spaces"),
    *("transformersInfo", "widgetData"),
}


def model_info(repo: FakeRepo, request: Request) -> dict[str, Any]:
    """Return the answer: every default field, or those that `expand` asks for, without nulls."""
    expand = request.values("expand", "expand[]")
    unknown = [name for name in expand if name not in FIELDS and name not in _VALUELESS]
    if unknown:
        raise refusals.refuse(400, f"expand: invalid option {unknown[0]!r}")
    fields = expand or DEFAULT_FIELDS
    answer: dict[str, Any] = {"_id": repo.object_id, "id": repo.repo_id}
    answer |= {name: FIELDS[name](repo) for name in fields if name in FIELDS}
    if "siblings" in answer and request.flag("blobs"):
        answer["siblings"] = [listed_file(path, file) for path, file in repo.listed.items()]
    answer |= {name: repo.info[name] for name in ("_id", "id", *fields) if name in repo.info}
    return {name: value for name, value in answer.items() if value is not None}


def lfs_info(file: FakeFile) -> dict[str, Any]:
    """Size and pointer size of an LFS file, without its name."""
    return {"size": file.size, "pointerSize": len(file.lfs_pointer)}


def listed_file(path: str, file: FakeFile) -> dict[str, Any]:
    """Return an entry of the file list with `blobs`."""
    blob = {"rfilename": path, "blobId": file.oid, "size": file.size}
    return blob | ({"lfs": {"sha256": file.sha256, **lfs_info(file)}} if file.lfs else {})


def _safetensors(repo: FakeRepo) -> dict[str, Any] | None:
    counts = repo.parameters
    try:
        counts = repo.counted_parameters() if counts is None else counts
    except MALFORMED:
        return None  # the Hub says nothing of files it could not parse
    return {"parameters": counts, "total": sum(counts.values())} if counts else None


def _config(repo: FakeRepo) -> dict[str, Any] | None:
    """Return the few entries of config.json that the Hub repeats."""
    try:
        config = json.loads(repo.files["config.json"].head_bytes())
        config_keys = ("architectures", "model_type", "quantization_config")
        return {name: config[name] for name in config_keys if name in config}
    except MALFORMED:
        return None


def _base_models(repo: FakeRepo) -> dict[str, Any] | None:
    base = repo.card_data.get("base_model")
    if not base:
        return None
    names = [base] if isinstance(base, str) else base
    relation = "adapter" if "adapter_config.json" in repo.files else "finetune"
    return {
        "relation": repo.card_data.get("base_model_relation", relation),
        "models": [{"_id": object_id(name), "id": name} for name in names],
    }


def base_model_tags(repo: FakeRepo) -> list[str]:
    """Return the tags that the Hub derives from the base models of the card."""
    related = _base_models(repo) or {"relation": "", "models": []}
    ids = [model["id"] for model in related["models"]]
    return [f"base_model:{word}{id_}" for id_ in ids for word in ("", f"{related['relation']}:")]


FIELDS: dict[str, Callable[[FakeRepo], Any]] = {
    "modelId": lambda repo: repo.repo_id,
    "author": lambda repo: repo.repo_id.partition("/")[0],
    "sha": lambda repo: repo.sha,
    "lastModified": lambda repo: repo.last_modified,
    "createdAt": lambda repo: repo.last_modified,
    "private": lambda repo: repo.private,
    "gated": lambda repo: repo.gated,
    "disabled": lambda repo: repo.disabled,
    "pipeline_tag": lambda repo: repo.pipeline_tag,
    "library_name": lambda repo: repo.library_name,
    "tags": lambda repo: repo.tags,
    "downloads": lambda repo: repo.downloads,
    "likes": lambda repo: repo.likes,
    "trendingScore": lambda repo: repo.trending_score,
    "cardData": lambda repo: repo.card_data or None,
    "config": _config,
    "safetensors": _safetensors,
    "siblings": lambda repo: [{"rfilename": path} for path in repo.listed],
    "baseModels": _base_models,
    "usedStorage": lambda repo: sum(file.size for file in repo.files.values()),
}
