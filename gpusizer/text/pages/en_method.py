"""English: how the numbers are made, and the API."""

STRINGS: dict[str, str] = {
    "page.method.title": "How this is computed",
    "page.method.parameters.title": "Parameters",
    "page.method.parameters.text": "Shapes and dtypes of every tensor, from the headers of the"
    " weight files. Packed weights are unpacked, a tied matrix counts once, buffers do not count.",
    "page.method.weights.title": "Weights at another precision",
    "page.method.weights.text": "Each tensor in the layout of that format: its block size, its"
    " scales, and the tensors it leaves wide. Layouts follow llama.cpp, compressed-tensors,"
    " AutoGPTQ, AutoAWQ, bitsandbytes, ExLlama, MLX and the OCP Microscaling specification.",
    "page.method.kv_cache.title": "KV cache",
    "page.method.kv_cache.text": "2 × layers × KV heads × head size × bytes × tokens × sequences,"
    " layer by layer: sliding windows stop growing, latent attention (MLA) stores one vector,"
    " recurrent layers keep a fixed state.",
    "page.method.runtime.title": "Activations and overhead",
    "page.method.runtime.text": "Formulas of each engine (step size, logits, graphs, CUDA context)"
    " with constants fitted to published start-up logs. The band is their spread.",
    "page.method.fit.title": "Fit",
    "page.method.fit.text": "“Fits” holds at the high end of the band, against the memory a driver"
    " reports rather than the number on the box, and within the share an engine uses (vLLM keeps"
    " about a tenth back). “Tight” holds only at the likely value.",
    "page.method.speed.title": "Speed",
    "page.method.speed.text": "Tokens per second = efficiency × bandwidth ÷ bytes read per token,"
    " plus a fixed time per layer. Both constants come from published runs, by engine and class"
    " of GPU. Times and totals assume that three quarters of the context are prompt.",
    "page.method.prices.title": "Prices",
    "page.method.prices.text": "Launch prices, some street prices and RunPod rents, each with its"
    " date. They are not live.",
    "page.limits.title": "What it cannot know",
    "page.limits.bands": "Your driver, desktop and other programs also use memory: leave about"
    " 1 GiB on a card that drives a screen.",
    "page.limits.engines": "Engines change their defaults between versions; the constants name the"
    " versions they were fitted on.",
    "page.limits.multi": "Several GPUs are the least certain: links, topology and settings move"
    " their speed a lot.",
    "page.limits.offline": "A model answered from the embedded snapshot shows the day it was"
    " read; the repository may have changed since.",
    "page.api.title": "Use it from a program",
    "page.api.lead": "Five endpoints, without a key. Sizes are bytes as integers. Field names and"
    " values are English in every language.",
    "page.api.size": "sizes a model: facts, memory at every quantization, ranked GPUs.",
    "page.api.list": "lists the GPU catalogue, or the part a query matches.",
    "page.api.compare": "puts GPUs side by side, with a model also how it runs on each.",
    "page.api.errors": "A request that cannot be answered gets an object with an error: a stable"
    " code, a message, and the facts.",
    "page.copy": "Copy",
    "page.copied": "Copied",
}
