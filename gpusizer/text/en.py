"""English."""

STRINGS: dict[str, str] = {
    # Errors: one clear sentence each.
    "error.invalid_model_id": "“{value}” is not a model ID: {reason}.",
    "error.invalid_request": "{field} = “{value}” cannot be used: {reason}.",
    "error.unknown_gpu": "No GPU called “{value}” is in the catalogue.",
    "error.unknown_quant": "No quantization is called “{value}”.",
    "error.unknown_engine": "No engine is called “{value}”.",
    "error.did_you_mean": "Did you mean {names}?",
    "error.model_not_found": "The Hub has no model called {repo_id}.",
    "error.private_or_missing": "{repo_id} is private or does not exist; without access the Hub"
    " does not say which.",
    "error.revision_not_found": "{repo_id} has no revision “{revision}”.",
    "error.file_not_found": "{repo_id} has no file {file}.",
    "error.gated_model": "{repo_id} is gated: its owner must grant access on the Hub before its"
    " files can be read.",
    "error.no_weights": "{repo_id} holds no weights that can be sized ({formats}).",
    "error.malformed_repo": "{repo_id}: {file} contradicts its format ({reason}).",
    "error.limits_exceeded": "{repo_id} is larger than this service reads: {limit} stops at"
    " {allowed}.",
    "error.unsupported_dtype": "{repo_id} stores tensors as {dtype}, which its file"
    " format does not define.",
    "error.hub_unreachable": "The Hub did not give a usable answer about {repo_id} in time"
    " ({reason}).",
    "error.hub_rate_limited": "The Hub asks to slow down; try {repo_id} again in"
    " {retry_after_seconds} seconds.",
    "error.internal": "Something went wrong inside gpusizer. The report has been logged.",
    # Reasons that complete an error.
    "reason.empty": "nothing was typed",
    "reason.too_long": "it is too long",
    "reason.characters": "it has spaces or characters that model IDs cannot have",
    "reason.revision_characters": "no branch, tag or commit can have this name",
    "reason.dataset": "it points to a dataset",
    "reason.space": "it points to a Space",
    "reason.other_host": "it points to another site than the Hugging Face Hub",
    "reason.shape": "it should look like “organisation/name” or a huggingface.co address",
    "reason.out_of_range": "it must be between {low} and {high}",
    "reason.not_one_of": "it must be one of {choices}",
    "reason.not_json": "it is not valid JSON",
    "reason.not_an_object": "it must be a JSON object",
    "reason.timeout": "it took too long",
    "reason.not_an_integer": "it must be a whole number",
    "reason.not_a_number": "it must be a number",
    "reason.not_a_boolean": "it must be true or false",
    "reason.not_text": "it must be text",
    "reason.not_a_list": "it must be a list",
    "reason.unknown_field": "there is no such field",
    "reason.cannot_be_split": "the model cannot be divided over that many GPUs",
    "reason.does_not_run": "it does not run {quant}",
    "reason.offline": "offline, and the model is not in the embedded snapshot",
    "reason.address": "it must be an http(s) address",
    "reason.number": "it must be a number of seconds up to 3600",
    "reason.connection": "no connection",
    "reason.server_error": "it had an error of its own",
    "reason.unexpected_answer": "an answer nobody can use",
    "reason.redirect": "it points to an address that is not trusted",
    "reason.redirect_loop": "it redirects in circles",
    "reason.truncated": "it ends too early",
    "reason.header_length": "its header has an impossible length",
    "reason.not_utf8": "it is not UTF-8 text",
    "reason.too_deep": "it is nested too deeply",
    "reason.duplicate_key": "it names something twice",
    "reason.tensor_entry": "a tensor is not described properly",
    "reason.malformed_repo.shape": "a tensor has an impossible shape",
    "reason.data_offsets": "a tensor's size and place disagree",
    "reason.overlap": "two tensors overlap",
    "reason.beyond_end": "a tensor lies beyond the end of the file",
    "reason.no_tensors": "it holds no tensors",
    "reason.missing_shard": "a part of the weights is missing",
    "reason.weight_map": "its list of files cannot be used",
    # Caveats about a model.
    "note.embedded_snapshot": "Answered from the embedded snapshot of {date}, not from the live"
    " Hub.",
    "note.mtp_layers_counted": "{parameters} parameters are multi-token-prediction layers, counted"
    " here although most engines do not load them.",
    "note.tied_matrix_stored_twice": "The output head repeats the embedding; it is stored twice"
    " and counted once.",
    "note.already_quantized": "The checkpoint is already quantized ({method}, {bits}-bit): wider"
    " rows need the original weights.",
    "note.quantization_width_unknown": "The checkpoint is quantized with {method}, whose width"
    " the configuration does not give: parameters are counted as stored.",
    "note.architecture_unknown": "No language-model configuration was found: KV cache and speed"
    " are not estimated.",
    "note.recovered_from_tensors": "config.json omits {facts}; read from the tensor shapes"
    " instead.",
    "note.class_defaults_used": "config.json omits {facts}; taken from the defaults of the model"
    " class.",
    "note.other_copies_not_counted": "{count} more weight files repeat the model in other formats"
    " and are not counted, {file} among them.",
    # Notes about a request.
    "note.context_shortened": "{asked} tokens are more than the model's {longest}: planned for"
    " {longest}.",
    "note.ollama_num_ctx": "Ollama takes {default} tokens of context unless num_ctx says more:"
    " set it to {tokens}.",
    "note.not_modelled": "Not modelled yet, and without effect on the numbers: {facts}.",
    "note.only_for_pipelines": "Without effect here: {facts} shape pictures and videos of"
    " diffusers pipelines.",
    "note.quantized_values_need_flash_attention": "llama.cpp quantizes cached values only with"
    " flash attention: without it this does not start.",
    # Verdicts, in a word or two.
    "verdict.fits": "fits",
    "verdict.tight": "tight",
    "verdict.offload": "needs offload",
    "verdict.does_not_fit": "does not fit",
    "answer.nothing_fits": "No GPU of the catalogue runs this, at any number that was tried.",
    # Reasons in a ranking.
    "note.verdict_fits": "Fits in {quant} with {engine}, {headroom_bytes} to spare on each GPU.",
    "note.verdict_tight": "Probably fits in {quant} with {engine}, but only {headroom_bytes} is"
    " left on each GPU.",
    "note.verdict_offload": "{headroom_bytes} too large for the GPU in {quant}: part of the weights"
    " must stay in system memory.",
    "note.verdict_does_not_fit": "Does not fit: {headroom_bytes} short on each GPU in {quant}.",
    "note.layers_that_fit": "{layers} of {of_layers} layers fit (--gpu-layers {layers}); the others"
    " take {ram_bytes} of system memory.",
    "note.experts_in_memory": "With --cpu-moe all but the routed experts fits, and they take"
    " {ram_bytes} of system memory.",
    "note.pipeline_offload_model": "With enable_model_cpu_offload() its components take turns:"
    " {gpu_bytes} on the GPU, and all weights ({ram_bytes}) in system memory.",
    "note.pipeline_offload_sequential": "With enable_sequential_cpu_offload() its layers take"
    " turns, very slowly: {gpu_bytes} on the GPU, and all weights ({ram_bytes}) in system memory.",
    "note.no_fast_interconnect": "No NVLink or similar: the GPUs talk over PCIe.",
    "note.usable_memory_not_observed": "Usable memory is a cautious reading of the data sheet, not"
    " observed.",
    "note.may_run_out": "At the high end of the estimate it runs out of memory.",
    # GGUF repositories.
    "note.gguf_variant_read": "{count} quantizations are published here; the tensors were read in"
    " {file}, the sizes of the others in the file list.",
    "note.gguf_raw_pieces": "Published in raw pieces: {names}. Join the pieces of a file in order"
    " with cat before loading it.",
    "note.projector_not_counted": "Images and sound also need the projector {file}"
    " ({projector_bytes}), which is not counted in the totals.",
    "note.metadata_recovered": "The file's metadata omits {facts}; read from the tensor shapes"
    " instead.",
    "reason.magic": "it is not a GGUF file",
    "reason.big_endian": "it is written for big-endian machines",
    "reason.version": "its version of the format is not known",
    "reason.metadata_type": "its metadata has a type that nobody reads",
    "reason.key_length": "a metadata key has an impossible length",
    "reason.alignment": "its alignment is impossible",
    "reason.name_length": "a tensor's name has an impossible length",
    "reason.duplicate_tensor": "two tensors have the same name",
    "reason.block": "a tensor's rows do not fill whole blocks",
    # How a repository was read.
    "note.gated_totals": "The files are gated: totals from the Hub's API and file list;"
    " what depends on single tensors or on the configuration is estimated or left out.",
    "note.sizes_from_files": "The weights are pickles, which are never opened: parameters"
    " are their bytes divided by the width of the dtype in the configuration.",
    "note.one_copy_counted": "The repository holds several copies of weights: counted is"
    " {counted}; {file} is not.",
    "note.repo_renamed": "{asked} is now called {repo_id}.",
    "note.read_from_mirror": "The files are gated: read from the ungated copy {mirror},"
    " whose parameters by dtype are the same.",
    "note.base_model_added": "An adapter: sized together with the base model it names, {base}.",
    "note.base_model_not_read": "An adapter, sized alone: its base model {base} could not"
    " be read ({reason}).",
    "note.base_model_not_named": "An adapter, sized alone: it does not say which base model"
    " it belongs to.",
    "error.private_or_missing.disabled": "{repo_id} has been disabled on the Hub.",
    "error.no_weights.empty": "{repo_id} is empty: it holds no weights at all.",
    "note.quantized_repos_not_listed": "The quantized repositories of {repo_id} could not be"
    " listed ({reason}).",
    "note.stale_cache": "The Hub could not be asked: this is what it said on {date}, and may be"
    " out of date.",
    # The most that fits, and what would make it fit.
    "note.largest_context": "Up to {context:,} tokens of context for {users:,} at once.",
    "note.most_users": "Up to {users:,} at once with {context:,} tokens each.",
    "note.best_quant": "Most faithful that fits: {quant} with {engine}.",
    "note.try_flash_attention": "Turn flash attention on.",
    "note.try_memory_utilization": "Let {engine} use {percent}% of the card.",
    "note.try_max_num_seqs": "Schedule at most {sequences} sequences at once (max_num_seqs).",
    "note.try_max_num_batched_tokens": "Process at most {tokens:,} tokens per step"
    " (max_num_batched_tokens).",
    "note.try_ubatch_size": "Process {tokens} tokens of the prompt at a time (ubatch_size).",
    "note.try_enforce_eager": "Run without CUDA graphs (enforce_eager), a little slower.",
    "note.try_kv_cache": "Keep the KV cache in {dtype} instead of {before}.",
    "note.try_context": "{context:,} tokens of context instead of {asked:,}.",
    "note.try_concurrency": "{concurrency:,} at once instead of {asked:,}.",
    "note.try_cpu_offload_model": "Let the components take turns on the GPU"
    " (enable_model_cpu_offload), somewhat slower.",
    "note.try_cpu_offload_sequential": "Let the layers take turns on the GPU"
    " (enable_sequential_cpu_offload), very much slower.",
    "note.try_quant": "{quant} instead of {before}.",
    "note.try_quant_engine": "{quant} with {engine} instead of {before}.",
    "note.try_tensor_parallel": "Tensor parallel {degree}: {count} of these GPUs instead of"
    " {before}.",
    "note.try_more_gpus": "{count} of these GPUs instead of {before}.",
    "note.try_offload": "Keep {layers} of {all} layers on the GPU and the rest ({ram_bytes}) in"
    " system memory, much slower.",
    # How a model is divided.
    "note.no_routed_experts": "{degree} expert-parallel ranks have no effect: the model has no"
    " routed experts.",
    "reason.expert_ranks": "it must be a multiple of the tensor-parallel degree, {tensor}",
    "reason.more_than_experts": "the model has only {experts} experts",
    "note.heads_not_divisible": "Tensor parallel {degree} is refused: {heads} attention heads do"
    " not divide by it.",
    "note.kv_heads_not_divisible": "Tensor parallel {degree} is refused: with {kv_heads} key and"
    " value heads neither divides the other.",
    "note.width_not_divisible": "Tensor parallel {degree} is refused: the MLP is {width} wide,"
    " which does not divide by it.",
    "note.vocabulary_not_divisible": "Tensor parallel {degree} is refused: the padded vocabulary"
    " has {rows} rows, which do not divide by it.",
    "note.kv_heads_repeated": "Tensor parallel {degree} repeats the {kv_heads} key and value heads:"
    " beyond them the cache per GPU no longer shrinks.",
    "note.vocabulary_padded": "The vocabulary is padded from {rows} to {padded} rows.",
    "note.beyond_one_node": "Tensor parallel {degree} would cross machines of {per_node}: pipeline"
    " stages or data parallelism go over a network, dividing each matrix does not.",
    "note.more_stages_than_layers": "{degree} stages are more than the model's {layers} layers.",
    "note.more_ranks_than_experts": "{degree} ranks are more than the model's {experts} experts.",
    # A machine of mixed cards.
    "note.rig_vulkan": "Cards of different stacks ({stacks}) run together only under llama.cpp's"
    " Vulkan build, slower than their own.",
    "note.rig_cpu_only": "No card: everything is computed by the CPU from system memory, slowly.",
    "note.rig_shared_memory": "The memory of {gpu} is the machine's own: no other system memory is"
    " counted.",
    "note.rig_ram_unknown": "How much system memory there is was not said, so what it must hold is"
    " not checked.",
    "note.rig_split_tuned": "llama.cpp's own split by free memory overfills a card; the layers are"
    " dealt out with -ts instead.",
    "note.rig_needs_ram": "It needs {ram_bytes} of free system memory.",
    "note.rig_speed_unknown": "Part of it runs from system memory, whose speed was not said: no"
    " speed is estimated.",
    "reason.rig_separator": "cards and memory must be separated by +",
    "reason.ram_amount": "it names system memory without an amount",
    "reason.rig_not_supported": "there is no build of llama.cpp for {gpu}",
    "reason.rig_apple_alone": "{gpu} is part of a Mac and cannot be joined with other cards",
    "reason.rig_no_vulkan": "cards of {stacks} would need llama.cpp's Vulkan build together, for"
    " which {gpu} is not known to have a driver",
    "reason.rig_engine": "a rig of mixed cards is planned as llama.cpp divides models",
    "reason.rig_layers_unknown": "its layers are not known, and llama.cpp does not run it",
    "reason.rig_quant": "llama.cpp runs none of these quantizations",
    "reason.rig_empty": "it names neither a card nor an amount of system memory",
    # Models for a GPU.
    "reason.gpu_or_rig": "name a GPU or a rig, not both",
    "reason.one_gpu": "name one GPU; cards together are a rig, joined by “+”",
    "answer.no_model_fits": "None of the models that were looked at runs there.",
    # Ways to run a model.
    "plan.single": "one GPU",
    "plan.tensor": "tensor parallel",
    "plan.pipeline": "layers divided",
    "plan.tensor_pipeline": "tensor parallel and stages",
    "plan.expert": "expert parallel",
    "plan.offload_layers": "layers in system memory",
    "plan.offload_experts": "experts in system memory",
    # Start-up logs.
    "error.invalid_request.no_start_up_log": "No start-up lines of vLLM, SGLang, llama.cpp or"
    " Ollama were found in this text.",
    "note.log_cut": "The text is longer than what is read of a log: {lines:,} lines were read.",
    "note.log_several_loads": "{count} starts or models are in this log; the largest is compared.",
    "note.log_model_unknown": "The log does not name a model on the Hub (a local path was loaded):"
    " say which model it is.",
    "note.log_model_not_read": "The log names {model}, which could not be read ({reason}): say"
    " which model it is.",
    "note.log_gpu_unknown": "The log does not name a GPU of the catalogue ({value}): its defaults"
    " are guessed; naming the GPU helps.",
    "note.log_default_utilization": "The log does not say which share of the card the engine was"
    " given: its default {share} is assumed.",
    "note.log_quant_unknown": "The type of the file ({value}) is not known: its weights are not"
    " compared.",
    # Launch commands.
    "note.launch_needs_gguf": "{repo_id} holds no GGUF files: put a repository with a {quant} file"
    " of it in place of OWNER/NAME-GGUF.",
    "note.launch_needs_repository": "{quant} is not made while loading: put a repository that holds"
    " it in place of this one.",
    "note.launch_cache_type": "{engine} has no option for a cache in {kv_dtype}: the command leaves"
    " it at 16 bits.",
    "note.launch_no_flag": "{engine} has no option for {setting}: the command does not set it.",
    "note.launch_no_revision": "{engine} has no option for a revision: the command takes the main"
    " branch, not {revision}.",
    "note.launch_nodes": "{nodes} machines: run the command on each of them, with {option} {values}"
    " in turn and the first one's address in place of {address}.",
    "note.launch_headless": "On all machines but the first, add --headless.",
    "note.launch_one_node": "{nodes} machines: {engine}'s command is for one of them and does not"
    " join them.",
    # Training.
    "note.training_fits": "Trains here with {headroom_bytes} to spare on each GPU.",
    "note.training_tight": "Probably trains here, but only {headroom_bytes} is left on each GPU.",
    "note.training_does_not_fit": "Does not fit: {headroom_bytes} short on each GPU.",
    "note.training_none": "{devices} GPUs, each with everything.",
    "note.training_ddp": "{devices} replicas exchange gradients (DDP); every GPU holds the "
    "whole state.",
    "note.training_fsdp": "Weights, gradients and optimizer states are divided over {devices} "
    "GPUs (FSDP).",
    "note.training_zero1": "Optimizer states are divided over {devices} GPUs (ZeRO-1).",
    "note.training_zero2": "Optimizer states and gradients are divided over {devices} GPUs "
    "(ZeRO-2).",
    "note.training_zero3": "Weights, gradients and optimizer states are divided over {devices} "
    "GPUs (ZeRO-3).",
    "note.training_network": "More GPUs than one fabric joins: a network of {gbit} Gbit/s per "
    "GPU is assumed.",
    "note.training_without_bf16": "No BF16: FP16 with loss scaling, which is less steady.",
    "note.training_software": "Training frameworks rarely run on {software}.",
    "note.training_speed_unmeasured": "No training run on this class of GPU is published in the "
    "data: the speed is a cautious guess.",
    "note.training_host_memory": "{ram_bytes} of system memory hold what is offloaded.",
    "note.training_of_pipeline": "An image or video model: the denoiser is trained, "
    "sequence_length counts its tokens (4096 for 1024 x 1024 pixels), convolutions are not "
    "counted. Hardly any run is published: wide bands.",
    "note.training_of_encoder": "Not a text generator: nearly all measurements are of those, so "
    "the bands are wide.",
    "note.training_without_tensors": "The tensors could not be read: matrices are laid out as "
    "usual in a model of this size.",
    "note.training_beyond_context": "{asked} tokens are more than the model's {longest}: "
    "positions beyond must be learned.",
    "note.training_of_gguf": "GGUF files are for running: training needs the original weights, "
    "whose shapes are used here.",
    "note.training_lengths": "With sequences of varying length PyTorch may show {shown_bytes} as "
    "used on each GPU; it gives back what is not needed before it runs out.",
    "note.train_flash": "Use flash attention.",
    "note.train_checkpointing": "Gradient checkpointing: compute activations again, about a "
    "third slower.",
    "note.train_fused_loss": "Fused cross-entropy (Liger, CCE): logits are never held whole.",
    "note.train_micro_batch": "One sequence at a time, {accumulation} gradients added before "
    "each update.",
    "note.train_8bit_optimizer": "Keep optimizer states in 8 bits.",
    "note.train_lora": "LoRA of rank {rank}: train adapters instead of the weights.",
    "note.train_qlora": "QLoRA: hold the frozen weights in 4 bits (NF4).",
    "note.train_offload_optimizer": "Keep optimizer states in system memory, slower.",
    "note.train_shard": "Divide everything over {devices} GPUs (FSDP).",
    "note.train_offload_all": "Keep weights, states and activations in system memory, much slower.",
    "note.training_nvme": "{disk_bytes} on NVMe disks hold what is offloaded, with buffers in "
    "system memory.",
    "note.training_without_images": "Text alone is counted: images and sound bring tokens and"
    " activations of their own.",
    "note.training_of_experts": "Routed experts are counted in 4 bits: bitsandbytes quantizes them"
    " only where each is a linear layer of its own, not where they are fused.",
}
