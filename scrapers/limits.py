"""Limits: bounds of the data read from an untrusted repository."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.units import KIB, MIB

# Requests in flight for one model.
PARALLEL_READS = 32
# Requests in flight for the whole process, whatever the number of models.
PROCESS_READS = 64
# Memory for the values of one JSON text; a list of 30,000 files needs a third of it.
JSON_MEMORY_BYTES = 96 * MIB


@dataclass(frozen=True, slots=True)
class Limits:
    """Budgets of reading one model; exceeding one raises LimitsExceeded or HubUnreachable."""

    # JSON header of one safetensors file. The format allows 100 MB, for which Python would need a
    # gigabyte; huggingface_hub refuses above 25 MB; the largest one known has 2.2 MB.
    header_bytes: int = 8 * MIB
    # longer headers are read one after another, as they are parsed
    long_header_bytes: int = 1280 * KIB
    # All headers of a model in one answer, about 130 bytes per tensor: DeepSeek-R1 has 12 MB.
    # Larger models are read shard by shard.
    headers_bytes: int = 32 * MIB
    # timeout of that request; after it each shard's own header is read
    headers_seconds: float = 8.0
    # First guess at the header of a single file of unknown size: what fits into the first few
    # flights of a TCP connection. Nine in ten need less.
    first_read_bytes: int = 96 * KIB
    first_read_most: int = MIB  # most bytes of a first read, whatever is expected
    # One configuration file. Real ones reach about 300 KB, with long lists of unquantized layers.
    config_bytes: int = 2 * MIB
    card_bytes: int = MIB  # The model card. The longest known has 130 KB.
    card_seconds: float = 5.0  # time limit for reading it, after which the answer goes without it
    # Results of benchmarks, about 400 bytes each; the answer goes without them after this time.
    evaluations_bytes: int = MIB
    evaluations_seconds: float = 5.0
    # Memory for the values of all configurations of a model. Real ones take less than 4 MB.
    config_memory_bytes: int = 32 * MIB
    json_memory_bytes: int = JSON_MEMORY_BYTES  # memory for the values of one response of the API
    page_bytes: int = 2 * MIB  # one page of the file list of a quantized repository (`listings`)
    # the API's description of a repository with its file list, 250 to 300 bytes per file, or one
    # page of the list
    info_bytes: int = 16 * MIB
    index_bytes: int = 64 * MIB  # One shard index. The largest known has 60 MB (497,000 tensors).
    # Everything read for one model. The largest known has 65 MB of headers and an index of 60 MB.
    total_bytes: int = 160 * MIB
    files: int = 30_000  # entries of the file list
    tree_pages: int = 30  # pages of the file list, 1,000 entries each
    # Files whose headers are read. The largest models have a few hundred.
    weight_files: int = 2_000
    tensors: int = 500_000  # tensors of all files; the largest model known has 497,000
    # Distinct patterns of tensor names with dtype and shape, in all components. The largest number
    # known is 230.
    tensor_groups: int = 1_000
    components: int = 64  # folders of a pipeline
    json_depth: int = 32  # nesting of a configuration; real ones stay below 10
    # Bytes read of one GGUF file. Headers hold the tokenizer; 128,000 tokens and their merges make
    # 8 MB (Llama 3), so that 200,000 make about 13 MB.
    gguf_header_bytes: int = 32 * MIB
    # first guess at a GGUF header: enough for a vocabulary of 32,000
    gguf_first_bytes: int = 768 * KIB
    gguf_keys: int = 10_000  # Metadata entries of a GGUF file. Real ones stay below 100.
    # short metadata values that are stored; arrays have one for each layer
    gguf_values: int = 50_000
    # Tensors of one GGUF file, where the experts of a layer are one tensor. The largest known have
    # about 2,500.
    gguf_tensors: int = 50_000
    # models that the file list of a GGUF repository may offer; about 30 is usual
    gguf_variants: int = 400
    redirects: int = 5  # Hops of one request. The Hub needs 2: rename, then CDN.
    # tries of one request before its failure counts: of a broken connection, or of a response that
    # contradicts the file list
    attempts: int = 3
    busy_attempts: int = 7  # tries of a request while the Hub answers with one of RETRIED_STATUSES
    connect_seconds: float = 5.0  # timeout of opening a connection
    request_seconds: float = 10.0  # timeout of each wait for bytes of a response
    model_seconds: float = 30.0  # time for all requests of one model
    # Requests in flight for one model. The Hub is 30-100 ms away and each shard costs two round
    # trips, so that a model with more shards takes two more.
    parallel_reads: int = PARALLEL_READS
