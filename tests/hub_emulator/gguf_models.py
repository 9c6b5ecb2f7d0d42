"""Realistic GGUF repositories: metadata and tensors as llama.cpp's converter writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.hub_emulator.files import FakeFile, literal_file
from tests.hub_emulator.gguf_files import Tensors, gguf_file, tokenizer
from tests.hub_emulator.repos import FakeRepo

Shaped = dict[str, tuple[str, tuple[int, ...]]]

# What bartowski and others publish for one model.
USUAL_LABELS = (
    *("BF16", "Q8_0", "Q6_K_L", "Q6_K", "Q5_K_L", "Q5_K_M", "Q5_K_S", "Q4_K_L", "Q4_K_M"),
    *("Q4_K_S", "Q4_1", "Q4_0", "IQ4_NL", "IQ4_XS", "Q3_K_XL", "Q3_K_L", "Q3_K_M", "Q3_K_S"),
    *("IQ3_M", "IQ3_XS", "IQ3_XXS", "Q2_K_L", "Q2_K", "IQ2_M", "IQ2_S"),
)


def llama_metadata(
    *,
    layers: int = 2,
    hidden: int = 256,
    ffn: int = 512,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 64,
    context: int = 4096,
    arch: str = "llama",
    **more: Any,
) -> dict[str, Any]:
    """Metadata without a tokenizer; `more` are keys below the architecture's name."""
    facts = {
        "block_count": layers,
        "context_length": context,
        "embedding_length": hidden,
        "feed_forward_length": ffn,
        "attention.head_count": heads,
        "attention.head_count_kv": kv_heads,
        "attention.key_length": head_dim,
        "attention.value_length": head_dim,
        "rope.freq_base": 500000.0,
        **more,
    }
    metadata = {f"{arch}.{key}": value for key, value in facts.items()}
    return {"general.architecture": arch, "general.type": "model", **metadata}


def llama_tensors(
    kind: str = "Q4_K",
    *,
    layers: int = 2,
    hidden: int = 256,
    ffn: int = 512,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 64,
    vocab: int = 1024,
    tied: bool = False,
) -> Shaped:
    """Return a Llama with all its matrices in one ggml type."""
    tensors: Shaped = {"token_embd.weight": (kind, (vocab, hidden))}
    outputs = {
        "attn_q": heads * head_dim,
        "attn_k": kv_heads * head_dim,
        "attn_v": kv_heads * head_dim,
        "ffn_gate": ffn,
        "ffn_up": ffn,
    }
    for layer in range(layers):
        block = f"blk.{layer}"
        for name, rows in outputs.items():
            tensors[f"{block}.{name}.weight"] = (kind, (rows, hidden))
        tensors[f"{block}.attn_output.weight"] = (kind, (hidden, heads * head_dim))
        tensors[f"{block}.ffn_down.weight"] = (kind, (hidden, ffn))
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"{block}.{name}.weight"] = ("F32", (hidden,))
    tensors["output_norm.weight"] = ("F32", (hidden,))
    if not tied:
        tensors["output.weight"] = (kind, (vocab, hidden))
    return tensors


def gguf_shards(
    stem: str, metadata: Mapping[str, Any], tensors: Tensors, count: int
) -> dict[str, FakeFile]:
    """Files as llama-gguf-split writes them: the metadata is in the first."""
    names = list(tensors)
    files = {}
    for number in range(count):
        part = {name: tensors[name] for name in names[number::count]}
        split = {"split.no": number, "split.count": count, "split.tensors.count": len(names)}
        head = {**metadata, **split} if number == 0 else split
        files[f"{stem}-{number + 1:05}-of-{count:05}.gguf"] = gguf_file(head, part)
    return files


def raw_pieces(names: Sequence[str], file: FakeFile) -> dict[str, FakeFile]:
    """Return a file cut into equal parts, the last one shorter, as `split` makes them."""
    step = -(-file.size // len(names))
    return {
        name: literal_file(file.read(at, at + step), lfs=True)
        for name, at in zip(names, range(0, file.size, step), strict=True)
    }


def gguf_repo(
    repo_id: str = "emulated/llama-GGUF",
    labels: Sequence[str] = USUAL_LABELS,
    *,
    vocab: int = 1024,
    merges: int = 2048,
    pre: str = "llama-bpe",
    files: Mapping[str, FakeFile] | None = None,
    **attributes: Any,
) -> FakeRepo:
    """Return a repository of one small Llama in many quantizations, and the added `files`."""
    metadata = {**llama_metadata(), **tokenizer(vocab, merges, pre=pre)}
    variants = {
        f"model-{label}.gguf": gguf_file(metadata, llama_tensors(_type_of(label), vocab=vocab))
        for label in labels
    }
    defaults: dict[str, Any] = {"library_name": "gguf", "pipeline_tag": "text-generation"}
    if pre == "llama-bpe" and vocab > 100_000:  # what the Hub says of a file of Llama 3
        defaults["info"] = {"gguf": {"architecture": "llama", "bos_token": "<|begin_of_text|>"}}
    return FakeRepo(repo_id, {**variants, **(files or {})}, **(defaults | attributes))


def _type_of(label: str) -> str:
    """Return a ggml type of about that width."""
    type_label = label.removeprefix("UD-")
    for kind in (
        "BF16",
        "Q8_0",
        "Q6_K",
        "Q5_K",
        "Q4_K",
        "Q4_1",
        "Q4_0",
        "IQ4_NL",
        "IQ4_XS",
        "Q3_K",
        "IQ3_XXS",
        "Q2_K",
        "IQ2_S",
    ):
        if type_label.startswith(kind):
            return kind
    return "IQ3_S" if type_label.startswith("IQ3") else "IQ2_XS"
