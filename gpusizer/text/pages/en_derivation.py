"""English: how each number comes about."""

STRINGS: dict[str, str] = {
    "page.derivation": "How each number comes about",
    "page.derivation.tensors": "sizes of the tensors in the files, as their headers say",
    "page.derivation.typed": "parameters × bits per weight ÷ 8: each tensor at the type "
    "this quantization gives it",
    "page.derivation.layers": "layers × (keys + values) × bytes each × tokens (× sequences)",
    "page.derivation.window": "layers that remember a window: × the window's tokens instead",
    "page.derivation.state": "recurrent layers × state × 4 bytes (× sequences), however "
    "long the text",
    "page.derivation.engine.weights": "what {engine} adds (tables, padding, other layouts) or "
    "leaves off the GPU (input embedding, draft layers)",
    "page.derivation.engine.kv_cache": "what {engine} makes of it: whole blocks, longer windows, "
    "parallel copies",
    "page.derivation.activations": "working memory of one step in {engine}: its buffers by its "
    "own rules, constants fitted to published logs.",
    "page.derivation.overhead": "CUDA context, kernels, graphs and libraries of {engine}, "
    "fitted to published logs.",
    "page.derivation.outside": "the same, outside the share of the card that {engine} "
    "budgets with.",
}
