"""English: how near the numbers are to measurements."""

STRINGS: dict[str, str] = {
    "page.accuracy.title": "How we know",
    "page.accuracy.lead": "{count} published measurements, predicted by the same code that"
    " answers you. Errors are shares of the measured value; last changed {date}.",
    "page.accuracy.all": "Every engine and component",
    "page.accuracy.how": "Repeated runs of one configuration count once. “Naive” is"
    " parameters × bytes, the usual KV cache formula on every layer, and 20% on top. “hf-mem”"
    " is that tool, {release}: its mean error where it answers, answered of asked in brackets."
    " Small parts can be far off as a share and near in GiB. Of GGUF files the types that some"
    " publishers choose are counted as known, worked out in part from these same files. The worst"
    " case links to its source.",
    "page.accuracy.verdicts": "Published runs that ran out of memory on a card of known size:"
    " {runs}; of these we would have said “fits”: {said}.",
    "page.accuracy.others": "Everybody but {sweep}",
    "page.accuracy.sweep": "{sweep} alone: one laboratory, one host",
    "page.accuracy.stated": "Runs that a request can state: no adapters or other tenants beside it",
    "page.accuracy.mean_of": "mean error over {n} configurations",
    "page.accuracy.ours": "gpusizer",
    "page.accuracy.naive": "naive",
    "page.accuracy.gguf": "GGUF files",
    "page.accuracy.source": "Worst case: {error}, source",
    "page.column.component": "Component",
    "page.column.n": "n",
    "page.column.median": "Median",
    "page.column.mean": "Mean",
    "page.column.bias": "Bias",
    "page.column.p95": "95% within",
    "page.column.mean_gib": "Mean GiB",
    "page.column.naive": "Naive mean",
    "page.column.hf_mem": "hf-mem mean",
    "page.column.worst": "Worst",
    "page.component.weights": "weights",
    "page.component.weights_on_gpus": "weights, on the GPUs",
    "page.component.kv_per_token": "KV cache per token",
    "page.component.kv_per_sequence": "KV cache per sequence",
    "page.component.kv_pool": "KV cache pool",
    "page.component.activations": "activation peak",
    "page.component.non_torch": "memory outside PyTorch",
    "page.component.graphs": "CUDA graphs",
    "page.component.max_concurrency": "most users",
    "page.component.kv_cache": "KV cache",
    "page.component.compute": "compute buffer",
    "page.component.process_total": "whole process",
    "page.component.file_size": "file size",
    "page.component.uniform_tensors": "tensors of one type",
    "page.component.pipeline_peak": "peak of a pipeline",
    "page.component.denoiser_peak": "peak of a denoiser",
    "page.component.decoder_peak": "peak of a decoder",
}
