"""Invented start-up logs in the engines' formats, with round numbers that are easy to check."""

from __future__ import annotations

VLLM_V1 = """\
(APIServer pid=1) INFO 10-06 12:00:02 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=1) INFO 10-06 12:00:02 [utils.py:233] non-default args: {'model_tag': \
'Qwen/Qwen3-8B', 'host': '10.1.2.3', 'model': 'Qwen/Qwen3-8B', 'max_model_len': 8192, \
'gpu_memory_utilization': 0.85, 'max_num_seqs': 64, 'api_key': 'sk-abcdefghijklmnop'}
(EngineCore_DP0 pid=21) INFO 10-06 12:00:09 [core.py:77] Initializing a V1 LLM engine (v0.11.0) \
with config: model='Qwen/Qwen3-8B', speculative_config=None, tokenizer='Qwen/Qwen3-8B', \
dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, pipeline_parallel_size=1, \
data_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto
(EngineCore_DP0 pid=21) INFO 10-06 12:00:20 [gpu_model_runner.py:2653] Model loading took \
15.2500 GiB and 6.100000 seconds
(EngineCore_DP0 pid=21) DEBUG 10-06 12:00:28 [gpu_worker.py:291] Initial free memory: 79.00 GiB; \
Requested memory: 0.850000 (util), 68.00 GiB
(EngineCore_DP0 pid=21) DEBUG 10-06 12:00:28 [gpu_worker.py:298] Memory profiling takes 4.10 \
seconds. Total non KV cache memory: 17.00GiB; torch peak memory increase: 1.50GiB; non-torch \
forward increase memory: 0.25GiB; weights memory: 15.25GiB.
(EngineCore_DP0 pid=21) INFO 10-06 12:00:28 [gpu_worker.py:300] Available KV cache memory: 51.00 GiB
(EngineCore_DP0 pid=21) INFO 10-06 12:00:29 [kv_cache_utils.py:1087] GPU KV cache size: 371,376 \
tokens
(EngineCore_DP0 pid=21) INFO 10-06 12:00:29 [kv_cache_utils.py:1091] Maximum concurrency for \
8,192 tokens per request: 45.33x
(EngineCore_DP0 pid=21) INFO 10-06 12:00:40 [gpu_model_runner.py:3480] Graph capturing finished \
in 8 secs, took 0.50 GiB
(APIServer pid=1) INFO:     Application startup complete.
"""

VLLM_V0 = """\
INFO 05-01 10:00:00 api_server.py:585] vLLM API server version 0.6.6
INFO 05-01 10:00:00 api_server.py:586] args: Namespace(host=None, port=8000, model='/srv/m/llama', \
max_model_len=4096, gpu_memory_utilization=0.9, max_num_seqs=128, enforce_eager=False, \
block_size=16)
INFO 05-01 10:00:05 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with config: \
model='/srv/m/llama', dtype=torch.float16, max_seq_len=4096, tensor_parallel_size=2, \
pipeline_parallel_size=1, quantization=awq, enforce_eager=False, kv_cache_dtype=fp8_e5m2
INFO 05-01 10:00:30 model_runner.py:1099] Loading model weights took 2.5000 GB
(VllmWorkerProcess pid=77) INFO 05-01 10:00:30 model_runner.py:1099] Loading model weights took \
2.7500 GB
INFO 05-01 10:00:40 worker.py:241] Memory profiling takes 5.00 seconds
INFO 05-01 10:00:40 worker.py:241] the current vLLM instance can use total_gpu_memory (24.00GiB) \
x gpu_memory_utilization (0.90) = 21.60GiB
INFO 05-01 10:00:40 worker.py:241] model weights take 2.50GiB; non_torch_memory takes 0.25GiB; \
PyTorch activation peak memory takes 0.50GiB; the rest of the memory reserved for KV Cache is \
18.35GiB.
INFO 05-01 10:00:41 distributed_gpu_executor.py:57] # GPU blocks: 9000, # CPU blocks: 2048
INFO 05-01 10:00:41 distributed_gpu_executor.py:61] Maximum concurrency for 4096 tokens per \
request: 35.16x
INFO 05-01 10:00:50 model_runner.py:1535] Graph capturing finished in 9 secs, took 0.25 GiB
"""

VLLM_RECENT = """\
(EngineCore pid=9) INFO 09-01 08:00:00 [core.py:109] Initializing a V1 LLM engine (v0.27.1) with \
config: model='org/hybrid', speculative_config=SpeculativeConfig(method='mtp', num_spec_tokens=2), \
dtype=torch.bfloat16, max_seq_len=16384, tensor_parallel_size=1, pipeline_parallel_size=1, \
quantization=compressed-tensors, enforce_eager=True, kv_cache_dtype=fp8, \
enable_prefix_caching=False
(Worker_PP0_TP1 pid=10) INFO 09-01 08:00:20 [model_runner.py:407] Model loading took 10.00 GiB \
memory and 9.100000 seconds
(EngineCore pid=9) INFO 09-01 08:00:21 [gpu_model_runner.py:6605] Estimated CUDA graph memory: \
0.75 GiB total
(EngineCore pid=9) DEBUG 09-01 08:00:22 [gpu_worker.py:1] Memory profiling takes 1.00 seconds. \
Total non KV cache memory: 12.00GiB; torch peak memory increase: 1.00GiB; total consumed (from \
mem_get_info): 10.50GiB; weights memory: 10.00GiB.
(EngineCore pid=9) INFO 09-01 08:00:23 [kv_cache_utils.py:1] GPU KV cache size: 34,952 tokens, \
Maximum concurrency for 16,384 tokens per request: 2.13x
(EngineCore pid=9) INFO 09-01 08:00:24 [gpu_worker.py:2] CUDA graph pool memory: 0.50 GiB \
(actual), 0.75 GiB (estimated), difference: 0.25 GiB (50.0%).
(EngineCore pid=9) DEBUG 09-01 08:00:25 [gpu_worker.py:3] Free memory on device (22.50/24.00 GiB) \
on startup. Desired GPU memory utilization is (0.92, 22.08 GiB). Actual usage is 10.50 GiB for \
consumed memory (weights + non-torch), 1.00 GiB for peak activation, and 0.50 GiB for CUDAGraph \
memory.
"""

SGLANG = """\
[2025-11-04 05:27:00] server_args=ServerArgs(model_path='Qwen/Qwen3-8B', context_length=16384, \
mem_fraction_static=0.86, tp_size=2, pp_size=1, quantization=None, kv_cache_dtype='auto', \
max_running_requests=None, chunked_prefill_size=8192, disable_cuda_graph=False)
[2025-11-04 05:27:10 TP0] Load weight begin. avail mem=78.00 GB
[2025-11-04 05:27:10 TP1] Load weight begin. avail mem=78.25 GB
[2025-11-04 05:27:13 TP0] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail \
mem=70.25 GB, mem usage=7.75 GB.
[2025-11-04 05:27:13 TP1] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail \
mem=70.25 GB, mem usage=8.00 GB.
[2025-11-04 05:27:14 TP0] KV Cache is allocated. #tokens: 800000, K size: 27.50 GB, V size: 27.50 GB
[2025-11-04 05:27:14 TP1] KV Cache is allocated. #tokens: 800000, K size: 27.50 GB, V size: 27.50 GB
[2025-11-04 05:27:20 TP0] Capture cuda graph end. Time elapsed: 6.00 s. mem usage=0.50 GB. avail \
mem=10.10 GB.
[2025-11-04 05:27:21] The server is fired up and ready to roll!
"""

SGLANG_DRAFT = (
    SGLANG.replace("TP0", "TP0 EP0").replace("tp_size=2", "tp_size=1")
    + """\
[2025-11-04 05:28:10 TP0 EP0] Load weight begin. avail mem=10.00 GB
[2025-11-04 05:28:13 TP0 EP0] Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, \
avail mem=9.00 GB, mem usage=1.00 GB.
[2025-11-04 05:28:14 TP0 EP0] KV Cache is allocated. #tokens: 800000, K size: 0.50 GB, V size: \
0.50 GB
"""
)

LLAMA_CPP = """\
build: 6123 (79c1160b) with cc (Ubuntu 11.4.0) 11.4.0 for x86_64-linux-gnu
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 4090) (0000:01:00.0) - \
23666 MiB free
llama_model_loader: loaded meta data with 28 key-value pairs and 399 tensors from \
/home/ann/models/Qwen3-8B-Q4_K_M.gguf (version GGUF V3 (latest))
llama_model_loader: - kv   0:                       general.architecture str              = qwen3
print_info: file type   = Q4_K - Medium
print_info: file size   = 4.68 GiB (4.91 BPW)
load_tensors: offloaded 37/37 layers to GPU
load_tensors:        CUDA0 model buffer size =  4455.50 MiB
load_tensors:   CPU_Mapped model buffer size =   333.75 MiB
llama_context: n_seq_max     = 2
llama_context: n_ctx         = 8192
llama_context: n_ctx_per_seq = 4096
llama_context: n_batch       = 2048
llama_context: n_ubatch      = 512
llama_context: flash_attn    = auto
llama_context:  CUDA_Host  output buffer size =     1.25 MiB
llama_kv_cache:      CUDA0 KV buffer size =  1152.00 MiB
llama_kv_cache: size = 1152.00 MiB (  4096 cells,  36 layers,  2/2 seqs), K (f16):  576.00 MiB, \
V (f16):  576.00 MiB
llama_context: Flash Attention was auto, set to enabled
llama_context:      CUDA0 compute buffer size =   304.75 MiB
llama_context:  CUDA_Host compute buffer size =    24.00 MiB
main: server is listening on http://127.0.0.1:8080 - starting the main loop
"""

LLAMA_CPP_OLD = """\
llama_model_loader: loaded meta data with 22 key-value pairs and 291 tensors from \
C:\\Users\\Ann\\models\\model.Q8_0.gguf (version GGUF V3 (latest))
llm_load_print_meta: model ftype      = Q8_0
llm_load_print_meta: model size       = 7.00 GiB (8.50 BPW)
ggml_cuda_init: found 1 CUDA devices:
  Device 0: Tesla T4, compute capability 7.5, VMM: yes
llm_load_tensors: offloaded 20/33 layers to GPU
llm_load_tensors:        CPU buffer size =  3000.50 MiB
llm_load_tensors:      CUDA0 buffer size =  4000.25 MiB
llama_new_context_with_model: n_ctx      = 4096
llama_new_context_with_model: n_batch    = 512
llama_new_context_with_model: n_ubatch   = 512
llama_new_context_with_model: flash_attn = 0
llama_kv_cache_init:        CPU KV buffer size =   192.00 MiB
llama_kv_cache_init:      CUDA0 KV buffer size =   320.00 MiB
llama_new_context_with_model: KV self size  =  512.00 MiB, K (f16):  256.00 MiB, V (f16):  \
256.00 MiB
llama_new_context_with_model:      CUDA0 compute buffer size =   296.00 MiB
"""

OLLAMA = """\
time=2025-10-01T10:00:00.000Z level=INFO source=routes.go:1475 msg="Listening on 127.0.0.1:11434 \
(version 0.12.3)"
time=2025-10-01T10:00:01.000Z level=INFO source=types.go:42 msg="inference compute" \
id=GPU-93e08bff-19ea-9448 library=CUDA compute=8.6 name=CUDA0 description="NVIDIA GeForce RTX \
3060" libdirs=ollama driver=12.8 total="12.0 GiB" available="11.2 GiB"
time=2025-10-01T10:00:02.000Z level=INFO source=sched.go:484 msg="system memory" total="28.6 GiB"
time=2025-10-01T10:00:03.000Z level=INFO source=runner.go:1284 msg=load request="{Operation:commit \
LoraPath:[] Parallel:1 BatchSize:512 FlashAttention:Enabled KvSize:16384 KvCacheType:q8_0 \
NumThreads:4}"
time=2025-10-01T10:00:04.000Z level=INFO source=ggml.go:494 msg="offloaded 29/29 layers to GPU"
time=2025-10-01T10:00:04.000Z level=INFO source=device.go:240 msg="model weights" device=CUDA0 \
size="4.0 GiB"
time=2025-10-01T10:00:04.000Z level=INFO source=device.go:251 msg="kv cache" device=CUDA0 \
size="1.5 GiB"
time=2025-10-01T10:00:04.000Z level=INFO source=device.go:262 msg="compute graph" device=CUDA0 \
size="512.0 MiB"
time=2025-10-01T10:00:04.000Z level=INFO source=device.go:272 msg="total memory" size="6.0 GiB"
"""

OLLAMA_OFFLOAD = """\
time=2025-03-05T04:40:18.460Z level=INFO source=server.go:105 msg="system memory" total="251.5 GiB"
time=2025-03-05T04:40:18.461Z level=INFO source=server.go:138 msg=offload library=cuda \
layers.requested=-1 layers.model=33 layers.offload=33 layers.split="" \
memory.available="[14.6 GiB]" memory.gpu_overhead="0 B" memory.required.full="6.0 GiB" \
memory.required.partial="6.0 GiB" memory.required.kv="1.0 GiB" memory.weights.total="4.5 GiB" \
memory.graph.full="560.0 MiB"
time=2025-03-05T04:40:18.463Z level=INFO source=server.go:380 msg="starting llama server" \
cmd="/usr/bin/ollama runner --model /root/.ollama/models/blobs/\
sha256-8eeb52 --ctx-size 8192 --batch-size 512 --n-gpu-layers 33 --parallel 4 --port 39123"
load_tensors:        CUDA0 model buffer size =  4155.75 MiB
"""

ALL = {
    "vllm v1": VLLM_V1,
    "vllm v0": VLLM_V0,
    "vllm recent": VLLM_RECENT,
    "sglang": SGLANG,
    "sglang draft": SGLANG_DRAFT,
    "llama.cpp": LLAMA_CPP,
    "llama.cpp old": LLAMA_CPP_OLD,
    "ollama": OLLAMA,
    "ollama offload": OLLAMA_OFFLOAD,
}
