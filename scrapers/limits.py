"""Limits: bounds of what is read of an untrusted repository."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.units import KIB, MIB

PARALLEL_READS = 32
"""Requests in flight for one model."""
PROCESS_READS = 64
"""Requests in flight for the whole process, whatever the number of models."""
JSON_MEMORY_BYTES = 96 * MIB
"""Memory for the values of one JSON text; a list of 30,000 files needs a third of it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets of reading one model; running out raises LimitsExceeded or HubUnreachable.

    Attributes:
        header_bytes: JSON header of one safetensors file. The format allows 100 MB, for
            which Python would need a gigabyte; huggingface_hub refuses above 25 MB; the
            largest one known has 2.2 MB.
        long_header_bytes: longer headers are read one after another, as they are parsed.
        headers_bytes: all headers of a model in one answer, about 130 bytes per tensor:
            DeepSeek-R1 has 12 MB. Larger models are read shard by shard.
        headers_seconds: timeout of that request; after it each shard's own header is read.
        first_read_bytes: first guess at the header of a single file of unknown size: what
            fits into the first few flights of a TCP connection. Nine in ten need less.
        first_read_most: most bytes of a first read, whatever is expected.
        config_bytes: one configuration file. Real ones reach about 300 KB, with long lists
            of unquantized layers.
        card_bytes: the model card. The longest known has 130 KB.
        card_seconds: time limit for reading it, after which the answer goes without it.
        config_memory_bytes: memory for the values of all configurations of a model.
            Real ones take less than 4 MB.
        json_memory_bytes: memory for the values of one response of the API.
        page_bytes: one page of the file list of a quantized repository (`listings`).
        info_bytes: the API's description of a repository with its file list, 250 to 300
            bytes per file, or one page of the list.
        index_bytes: one shard index. The largest known has 60 MB (497,000 tensors).
        total_bytes: everything read for one model. The largest known has 65 MB of headers and
            an index of 60 MB.
        files: entries of the file list.
        tree_pages: pages of the file list, 1,000 entries each.
        weight_files: files whose headers are read. The largest models have a few hundred.
        tensors: tensors of all files; the largest model known has 497,000.
        tensor_groups: distinct patterns of tensor names with dtype and shape, in all components.
            The largest number known is 230.
        components: folders of a pipeline.
        json_depth: nesting of a configuration; real ones stay below 10.
        gguf_header_bytes: bytes read of one GGUF file. Headers hold the tokenizer; 128,000
            tokens and their merges make 8 MB (Llama 3), so that 200,000 make about 13 MB.
        gguf_first_bytes: first guess at a GGUF header: enough for a vocabulary of 32,000.
        gguf_keys: metadata entries of a GGUF file. Real ones stay below 100.
        gguf_values: short metadata values that are stored; arrays have one for each layer.
        gguf_tensors: tensors of one GGUF file, where the experts of a layer are one tensor.
            The largest known have about 2,500.
        gguf_variants: models that the file list of a GGUF repository may offer; about 30 is
            usual.
        redirects: hops of one request. The Hub needs 2: rename, then CDN.
        attempts: tries of one request before its failure counts: of a broken connection, or of
            a response that contradicts the file list.
        busy_attempts: tries of a request while the Hub answers with one of RETRIED_STATUSES.
        connect_seconds: timeout of opening a connection.
        request_seconds: timeout of each wait for bytes of a response.
        model_seconds: time for all requests of one model.
        parallel_reads: requests in flight for one model. The Hub is 30-100 ms away and each
            shard costs two round trips, so that a model with more shards takes two more.
    """

    header_bytes: int = 8 * MIB
    long_header_bytes: int = 1280 * KIB
    headers_bytes: int = 32 * MIB
    headers_seconds: float = 8.0
    first_read_bytes: int = 96 * KIB
    first_read_most: int = MIB
    config_bytes: int = 2 * MIB
    card_bytes: int = MIB
    card_seconds: float = 5.0
    config_memory_bytes: int = 32 * MIB
    json_memory_bytes: int = JSON_MEMORY_BYTES
    page_bytes: int = 2 * MIB
    info_bytes: int = 16 * MIB
    index_bytes: int = 64 * MIB
    total_bytes: int = 160 * MIB
    files: int = 30_000
    tree_pages: int = 30
    weight_files: int = 2_000
    tensors: int = 500_000
    tensor_groups: int = 1_000
    components: int = 64
    json_depth: int = 32
    gguf_header_bytes: int = 32 * MIB
    gguf_first_bytes: int = 768 * KIB
    gguf_keys: int = 10_000
    gguf_values: int = 50_000
    gguf_tensors: int = 50_000
    gguf_variants: int = 400
    redirects: int = 5
    attempts: int = 3
    busy_attempts: int = 7
    connect_seconds: float = 5.0
    request_seconds: float = 10.0
    model_seconds: float = 30.0
    parallel_reads: int = PARALLEL_READS
