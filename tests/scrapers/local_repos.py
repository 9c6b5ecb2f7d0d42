"""Repositories written to a folder, and the snapshots read from it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.limits import Limits
from scrapers.repository.local_checkpoint import read_checkpoint
from scrapers.repository.local_refs import LocalRef, parse_local_or_model_ref
from tests.hub_emulator import (
    FakeFile,
    FakeRepo,
    gguf_file,
    literal_file,
    safetensors_file,
    sparse_file,
)
from tests.hub_emulator.gguf_models import (
    gguf_shards,
    llama_metadata,
    llama_tensors,
    raw_pieces,
    tokenizer,
)

REPO_ID = "org/name"
GGUF = gguf_file({**llama_metadata(), **tokenizer(300, 300)}, llama_tensors(vocab=300))


def on_disk(repo: FakeRepo, folder: Path) -> Path:
    """Write the files of an emulated repository into a folder, sparsely where they are zeros."""
    for path, file in repo.files.items():
        write(folder / path, file)
    return folder


def write(path: Path, file: FakeFile) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as opened:
        opened.write(file.head_bytes())
        opened.truncate(file.size)
    return path


def local(path: Path, **limits: Any) -> RepoSnapshot:
    """Read the checkpoint at a typed path."""
    ref = parse_local_or_model_ref(str(path))
    assert isinstance(ref, LocalRef)
    return read_checkpoint(ref, Limits(**limits))


def facts(snapshot: RepoSnapshot) -> RepoSnapshot:
    """Remove the facts about the reading, and those that only the API sends."""
    return replace(
        snapshot,
        card=replace(snapshot.card, url="") if snapshot.card else None,
        repo_id=REPO_ID,
        sha=None,
        source="hub",
        retrieved_at="",
        pipeline_tag=None,
        library=None,
    )


def pipeline_repo() -> FakeRepo:
    """Return a pipeline of diffusers with two components, one of them a pickle."""
    tensors = {"conv_in.weight": ("F16", (320, 4, 3, 3))}
    index = {
        "_class_name": "StableDiffusionPipeline",
        "unet": ["diffusers", "UNet2DConditionModel"],
    }
    files = {
        "model_index.json": literal_file(
            index | {"text_encoder": ["transformers", "CLIPTextModel"]}
        ),
        "unet/config.json": literal_file({"_class_name": "UNet2DConditionModel"}),
        "unet/diffusion_pytorch_model.safetensors": safetensors_file(tensors),
        "text_encoder/config.json": literal_file({"hidden_size": 768}),
        "text_encoder/pytorch_model.bin": sparse_file(4096),
    }
    return FakeRepo(REPO_ID, files)


def split_gguf_repo() -> FakeRepo:
    metadata = {**llama_metadata(), **tokenizer(500, 900)}
    return FakeRepo(REPO_ID, gguf_shards("m-Q4_K_M", metadata, llama_tensors(vocab=500), 3))


def pieces_repo() -> FakeRepo:
    whole_file = gguf_file({**llama_metadata(), **tokenizer(500, 900)}, llama_tensors(vocab=500))
    return FakeRepo(
        REPO_ID, raw_pieces(["m-Q4_K.gguf.part1of2", "m-Q4_K.gguf.part2of2"], whole_file)
    )


def cached(repo: FakeRepo, cache: Path) -> Path:
    """Return the repository as huggingface_hub caches it: files are links to blobs."""
    place = cache / f"models--{repo.repo_id.replace('/', '--')}"
    folder = place / "snapshots" / repo.sha
    for number, (path, file) in enumerate(repo.files.items()):
        blob = write(place / "blobs" / f"{number:040x}", file)
        link = folder / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(repo.sha)
    return place
