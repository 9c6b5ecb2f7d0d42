"""Português do Brasil."""

STRINGS: dict[str, str] = {
    # Errors: one clear sentence each.
    "error.invalid_model_id": "“{value}” não é um ID de modelo: {reason}.",
    "error.invalid_request": "{field} = “{value}” não pode ser usado: {reason}.",
    "error.unknown_gpu": "Não há no catálogo nenhuma GPU chamada “{value}”.",
    "error.unknown_quant": "Nenhuma quantização se chama “{value}”.",
    "error.unknown_engine": "Nenhum motor de inferência se chama “{value}”.",
    "error.did_you_mean": "Você quis dizer {names}?",
    "error.model_not_found": "O Hub não tem nenhum modelo chamado {repo_id}.",
    "error.private_or_missing": "{repo_id} é privado ou não existe; sem acesso, o Hub não diz qual"
    " dos dois.",
    "error.revision_not_found": "{repo_id} não tem a revisão “{revision}”.",
    "error.file_not_found": "{repo_id} não tem o arquivo {file}.",
    "error.gated_model": "{repo_id} tem acesso restrito: o dono precisa liberar o acesso no Hub"
    " antes que os arquivos possam ser lidos.",
    "error.no_weights": "{repo_id} não contém pesos que possam ser medidos ({formats}).",
    "error.malformed_repo": "{repo_id}: {file} contradiz o próprio formato ({reason}).",
    "error.limits_exceeded": "{repo_id} é maior do que este serviço lê: {limit} vai até {allowed}.",
    "error.unsupported_dtype": "{repo_id} guarda tensores em {dtype}, que o formato do arquivo"
    " não define.",
    "error.hub_unreachable": "O Hub não deu a tempo uma resposta utilizável sobre {repo_id}"
    " ({reason}).",
    "error.hub_rate_limited": "O Hub pede calma; tente {repo_id} de novo em {retry_after_seconds}"
    " segundos.",
    "error.internal": "Algo deu errado dentro do gpusizer. O problema foi registrado.",
    # Reasons that complete an error.
    "reason.empty": "nada foi digitado",
    "reason.too_long": "é longo demais",
    "reason.characters": "tem espaços ou caracteres que um ID de modelo não pode ter",
    "reason.revision_characters": "nenhum branch, tag ou commit pode ter esse nome",
    "reason.dataset": "aponta para um dataset",
    "reason.space": "aponta para um Space",
    "reason.other_host": "aponta para outro site que não o Hugging Face Hub",
    "reason.shape": "deveria ser “organização/nome” ou um endereço do huggingface.co",
    "reason.out_of_range": "precisa estar entre {low} e {high}",
    "reason.not_one_of": "precisa ser um destes: {choices}",
    "reason.not_json": "não é JSON válido",
    "reason.not_an_object": "precisa ser um objeto JSON",
    "reason.timeout": "demorou demais",
    "reason.not_an_integer": "precisa ser um número inteiro",
    "reason.not_a_number": "precisa ser um número",
    "reason.not_a_boolean": "precisa ser true ou false",
    "reason.not_text": "precisa ser texto",
    "reason.not_a_list": "precisa ser uma lista",
    "reason.unknown_field": "esse campo não existe",
    "reason.cannot_be_split": "o modelo não pode ser dividido por tantas GPUs",
    "reason.offline": "sem rede, e o modelo não está na cópia embutida",
    "reason.address": "precisa ser um endereço http(s)",
    "reason.number": "precisa ser um número de segundos até 3600",
    "reason.does_not_run": "não roda {quant}",
    "reason.connection": "sem conexão",
    "reason.server_error": "erro no próprio servidor",
    "reason.unexpected_answer": "resposta que não serve",
    "reason.redirect": "aponta para um endereço não confiável",
    "reason.redirect_loop": "redireciona em círculos",
    "reason.truncated": "termina antes da hora",
    "reason.header_length": "o cabeçalho tem um tamanho impossível",
    "reason.not_utf8": "não é texto UTF-8",
    "reason.too_deep": "está aninhado demais",
    "reason.duplicate_key": "repete uma chave",
    "reason.tensor_entry": "um tensor está mal descrito",
    "reason.malformed_repo.shape": "um tensor tem um formato impossível",
    "reason.data_offsets": "tamanho e lugar de um tensor não combinam",
    "reason.overlap": "dois tensores se sobrepõem",
    "reason.beyond_end": "um tensor passa do fim do arquivo",
    "reason.no_tensors": "não contém tensores",
    "reason.missing_shard": "falta uma parte dos pesos",
    "reason.weight_map": "a lista de arquivos não serve",
    # Caveats about a model.
    "note.embedded_snapshot": "Respondido pela cópia embutida de {date}, não pelo Hub ao vivo.",
    "note.mtp_layers_counted": "{parameters} parâmetros são camadas de predição de múltiplos tokens"
    " (MTP), contadas aqui embora a maioria dos motores não as carregue.",
    "note.tied_matrix_stored_twice": "A saída repete o embedding: está armazenada duas vezes e é"
    " contada uma.",
    "note.already_quantized": "O checkpoint já está quantizado ({method}, {bits} bits): as linhas"
    " mais largas exigem os pesos originais.",
    "note.quantization_width_unknown": "O checkpoint está quantizado com {method}, mas a"
    " configuração não diz a largura: os parâmetros são contados como armazenados.",
    "note.architecture_unknown": "Nenhuma configuração de modelo de linguagem foi encontrada: cache"
    " KV e velocidade não são estimados.",
    "note.recovered_from_tensors": "O config.json omite {facts}; lido do formato dos tensores.",
    "note.class_defaults_used": "O config.json omite {facts}; usados os padrões da classe do"
    " modelo.",
    "note.other_copies_not_counted": "Outros {count} arquivos de pesos repetem o modelo em outros"
    " formatos e não são contados, entre eles {file}.",
    "note.context_shortened": "{asked} tokens passam do limite do modelo, {longest}: calculado para"
    " {longest}.",
    "note.only_for_pipelines": "Sem efeito aqui: {facts} valem para imagens e vídeos de pipelines"
    " do diffusers.",
    "note.quantized_values_need_flash_attention": "O llama.cpp só quantiza os valores do cache com"
    " flash attention: sem ela, isto não inicia.",
    "note.ollama_num_ctx": "O Ollama usa {default} tokens de contexto se num_ctx não disser outra"
    " coisa: defina {tokens}.",
    "note.not_modelled": "Ainda não modelado e sem efeito nos números: {facts}.",
    # Verdicts.
    "verdict.fits": "cabe",
    "verdict.tight": "no limite",
    "verdict.offload": "exige offload",
    "verdict.does_not_fit": "não cabe",
    "answer.nothing_fits": "Nenhuma GPU do catálogo roda este modelo, em nenhuma quantidade"
    " testada.",
    # Reasons in a ranking.
    "note.verdict_fits": "Cabe em {quant} com {engine}, com {headroom_bytes} de folga em cada GPU.",
    "note.verdict_tight": "Provavelmente cabe em {quant} com {engine}, mas sobram só"
    " {headroom_bytes} em cada GPU.",
    "note.verdict_offload": "{headroom_bytes} acima do que a GPU comporta em {quant}: parte dos"
    " pesos precisa ficar na memória do sistema.",
    "note.verdict_does_not_fit": "Não cabe: faltam {headroom_bytes} em cada GPU em {quant}.",
    "note.layers_that_fit": "Cabem {layers} de {of_layers} camadas (--gpu-layers {layers}); as"
    " demais ocupam {ram_bytes} da memória do sistema.",
    "note.experts_in_memory": "Com --cpu-moe cabe tudo menos os especialistas roteados, que ocupam"
    " {ram_bytes} da memória do sistema.",
    "note.pipeline_offload_model": "Com enable_model_cpu_offload() os componentes se revezam:"
    " {gpu_bytes} na GPU e todos os pesos ({ram_bytes}) na memória do sistema.",
    "note.pipeline_offload_sequential": "Com enable_sequential_cpu_offload() as camadas se"
    " revezam, muito devagar: {gpu_bytes} na GPU e todos os pesos ({ram_bytes}) na memória do"
    " sistema.",
    "note.no_fast_interconnect": "Sem NVLink nem similar: as GPUs conversam por PCIe.",
    "note.usable_memory_not_observed": "A memória utilizável é uma leitura cautelosa da ficha"
    " técnica, não observada.",
    "note.may_run_out": "No topo da estimativa, falta memória.",
    # GGUF repositories.
    "note.gguf_variant_read": "O repositório oferece {count} quantizações; os tensores foram lidos"
    " em {file}, e o tamanho das demais, na lista de arquivos.",
    "note.gguf_raw_pieces": "Publicado em pedaços: {names}. Junte os pedaços de um arquivo, em"
    " ordem, com cat antes de carregá-lo.",
    "note.projector_not_counted": "Imagens e áudio exigem também o projetor {file}"
    " ({projector_bytes}), que não entra nos totais.",
    "note.metadata_recovered": "Os metadados do arquivo omitem {facts}; lido do formato dos"
    " tensores.",
    "reason.magic": "não é um arquivo GGUF",
    "reason.big_endian": "foi escrito para máquinas big-endian",
    "reason.version": "a versão do formato é desconhecida",
    "reason.metadata_type": "os metadados têm um tipo que não se sabe ler",
    "reason.key_length": "uma chave dos metadados tem um tamanho impossível",
    "reason.alignment": "o alinhamento é impossível",
    "reason.name_length": "o nome de um tensor tem um tamanho impossível",
    "reason.duplicate_tensor": "dois tensores têm o mesmo nome",
    "reason.block": "as linhas de um tensor não preenchem blocos inteiros",
    # How a repository was read.
    "note.gated_totals": "Os arquivos têm acesso restrito: totais da API e da lista de"
    " arquivos do Hub; o que depende de cada tensor ou da configuração é estimado ou omitido.",
    "note.sizes_from_files": "Os pesos são pickles, que nunca são abertos: os parâmetros"
    " são os bytes divididos pela largura do tipo indicado na configuração.",
    "note.one_copy_counted": "O repositório tem várias cópias dos pesos: contada {counted};"
    " {file} não.",
    "note.repo_renamed": "{asked} agora se chama {repo_id}.",
    "note.read_from_mirror": "Os arquivos têm acesso restrito: lidos da cópia aberta"
    " {mirror}, com os mesmos parâmetros por tipo.",
    "note.base_model_added": "É um adaptador: calculado junto com o modelo base que ele"
    " indica, {base}.",
    "note.base_model_not_read": "É um adaptador, calculado sozinho: não foi possível ler o"
    " modelo base {base} ({reason}).",
    "note.base_model_not_named": "É um adaptador, calculado sozinho: ele não diz a qual"
    " modelo base pertence.",
    "error.private_or_missing.disabled": "{repo_id} foi desativado no Hub.",
    "error.no_weights.empty": "{repo_id} está vazio: não contém peso algum.",
    "note.quantized_repos_not_listed": "Não foi possível listar os repositórios quantizados de"
    " {repo_id} ({reason}).",
    "note.stale_cache": "Não foi possível consultar o Hub: isto é o que ele dizia em {date} e pode"
    " estar desatualizado.",
    # The most that fits, and what would make it fit.
    "note.largest_context": "Até {context:,} tokens de contexto para {users:,} ao mesmo tempo.",
    "note.most_users": "Até {users:,} ao mesmo tempo com {context:,} tokens cada.",
    "note.best_quant": "A mais fiel que cabe: {quant} com {engine}.",
    "note.try_flash_attention": "Ligar o flash attention.",
    "note.try_memory_utilization": "Deixar {engine} usar {percent}% da placa.",
    "note.try_max_num_seqs": "Agendar no máximo {sequences} sequências ao mesmo tempo"
    " (max_num_seqs).",
    "note.try_max_num_batched_tokens": "Processar no máximo {tokens:,} tokens por passo"
    " (max_num_batched_tokens).",
    "note.try_ubatch_size": "Processar o prompt de {tokens} em {tokens} tokens (ubatch_size).",
    "note.try_enforce_eager": "Rodar sem CUDA graphs (enforce_eager), um pouco mais lento.",
    "note.try_kv_cache": "Guardar o cache KV em {dtype} em vez de {before}.",
    "note.try_context": "{context:,} tokens de contexto em vez de {asked:,}.",
    "note.try_concurrency": "{concurrency:,} ao mesmo tempo em vez de {asked:,}.",
    "note.try_cpu_offload_model": "Deixe os componentes se revezarem na GPU"
    " (enable_model_cpu_offload), um pouco mais lento.",
    "note.try_cpu_offload_sequential": "Deixe as camadas se revezarem na GPU"
    " (enable_sequential_cpu_offload), muitíssimo mais lento.",
    "note.try_quant": "{quant} em vez de {before}.",
    "note.try_quant_engine": "{quant} com {engine} em vez de {before}.",
    "note.try_tensor_parallel": "Paralelismo de tensor {degree}: {count} destas GPUs em vez de"
    " {before}.",
    "note.try_more_gpus": "{count} destas GPUs em vez de {before}.",
    "note.try_offload": "Manter {layers} de {all} camadas na GPU e o resto ({ram_bytes}) na memória"
    " do sistema, bem mais lento.",
    # How a model is divided.
    "note.no_routed_experts": "{degree} participantes de paralelismo de especialistas não têm"
    " efeito: o modelo não tem especialistas roteados.",
    "reason.expert_ranks": "deve ser um múltiplo do grau de paralelismo de tensores, {tensor}",
    "reason.more_than_experts": "o modelo só tem {experts} especialistas",
    "note.heads_not_divisible": "Paralelismo de tensor {degree} é recusado: {heads} cabeças de"
    " atenção não são divisíveis por ele.",
    "note.kv_heads_not_divisible": "Paralelismo de tensor {degree} é recusado: com {kv_heads}"
    " cabeças de chave e valor, nenhum número divide o outro.",
    "note.width_not_divisible": "Paralelismo de tensor {degree} é recusado: a largura {width} do"
    " MLP não é divisível por ele.",
    "note.vocabulary_not_divisible": "Paralelismo de tensor {degree} é recusado: as {rows} linhas"
    " do vocabulário preenchido não são divisíveis por ele.",
    "note.kv_heads_repeated": "Paralelismo de tensor {degree} repete as {kv_heads} cabeças de chave"
    " e valor: além delas o cache por GPU não diminui.",
    "note.vocabulary_padded": "O vocabulário é preenchido de {rows} para {padded} linhas.",
    "note.beyond_one_node": "Paralelismo de tensor {degree} atravessaria máquinas de {per_node}:"
    " estágios ou paralelismo de dados passam por rede, dividir cada matriz não.",
    "note.more_stages_than_layers": "{degree} estágios são mais que as {layers} camadas do modelo.",
    "note.more_ranks_than_experts": "{degree} participantes são mais que os {experts} especialistas"
    " do modelo.",
    # A machine of mixed cards.
    "note.rig_vulkan": "Placas de pilhas diferentes ({stacks}) só rodam juntas na versão Vulkan do"
    " llama.cpp, mais lenta que as próprias.",
    "note.rig_cpu_only": "Sem placa: tudo é calculado pela CPU a partir da memória do sistema,"
    " devagar.",
    "note.rig_shared_memory": "A memória de {gpu} é a da própria máquina: nenhuma outra memória do"
    " sistema é contada.",
    "note.rig_ram_unknown": "Não foi dito quanta memória do sistema há; o que ela precisa guardar"
    " não é conferido.",
    "note.rig_split_tuned": "A divisão do próprio llama.cpp por memória livre não cabe numa das"
    " placas; as camadas são repartidas com -ts.",
    "note.rig_needs_ram": "Precisa de {ram_bytes} de memória do sistema livre.",
    "note.rig_speed_unknown": "Parte dele roda da memória do sistema, cuja velocidade não foi dita:"
    " não há estimativa de velocidade.",
    "reason.rig_separator": "placas e memória precisam ser separadas por +",
    "reason.ram_amount": "ele cita memória do sistema sem a quantidade",
    "reason.rig_not_supported": "não há versão do llama.cpp para {gpu}",
    "reason.rig_apple_alone": "{gpu} é parte de um Mac e não se junta a outras placas",
    "reason.rig_no_vulkan": "placas de {stacks} precisariam juntas da versão Vulkan do llama.cpp,"
    " para a qual não se conhece driver de {gpu}",
    "reason.rig_engine": "uma máquina com placas diversas é planejada como o llama.cpp divide"
    " modelos",
    "reason.rig_layers_unknown": "as camadas não são conhecidas, e o llama.cpp não o executa",
    "reason.rig_quant": "o llama.cpp não executa nenhuma dessas quantizações",
    "reason.rig_empty": "não cita placa nem quantidade de memória do sistema",
    # Models for a GPU.
    "reason.gpu_or_rig": "indique uma GPU ou uma máquina, não ambas",
    "reason.one_gpu": "indique uma GPU; placas juntas são uma máquina, unidas por “+”",
    "answer.no_model_fits": "Nenhum dos modelos examinados roda ali.",
    # Ways to run a model.
    "plan.single": "uma GPU",
    "plan.tensor": "paralelismo de tensor",
    "plan.pipeline": "camadas divididas",
    "plan.tensor_pipeline": "paralelismo de tensor e estágios",
    "plan.expert": "paralelismo de especialistas",
    "plan.offload_layers": "camadas na memória do sistema",
    "plan.offload_experts": "especialistas na memória do sistema",
    # Start-up logs.
    "error.invalid_request.no_start_up_log": "Não há neste texto linhas de arranque do vLLM,"
    " SGLang, llama.cpp ou Ollama.",
    "note.log_cut": "O texto é maior do que se lê de um registo: foram lidas {lines:,} linhas.",
    "note.log_several_loads": "Há {count} arranques ou modelos neste registo; compara-se o maior.",
    "note.log_model_unknown": "O registo não nomeia um modelo do Hub (foi carregado um caminho"
    " local): indique qual é o modelo.",
    "note.log_model_not_read": "O registo nomeia {model}, que não pôde ser lido ({reason}): indique"
    " qual é o modelo.",
    "note.log_gpu_unknown": "O registo não nomeia uma GPU do catálogo ({value}): os seus valores"
    " predefinidos são supostos; indicar a GPU ajuda.",
    "note.log_default_utilization": "O registo não diz que parte da placa o motor pôde usar:"
    " supõe-se o valor predefinido, {share}.",
    "note.log_quant_unknown": "O tipo do ficheiro ({value}) é desconhecido: os seus pesos não são"
    " comparados.",
    # Launch commands.
    "note.launch_needs_gguf": "{repo_id} não tem ficheiros GGUF: substitua OWNER/NAME-GGUF por um"
    " repositório com um ficheiro {quant} dele.",
    "note.launch_needs_repository": "{quant} não se faz ao carregar: substitua este repositório por"
    " um que o contenha.",
    "note.launch_cache_type": "O {engine} não tem opção para uma cache em {kv_dtype}: o comando"
    " deixa-a em 16 bits.",
    "note.launch_no_flag": "O {engine} não tem opção para {setting}: o comando não o define.",
    "note.launch_no_revision": "O {engine} não tem opção para uma revisão: o comando usa o ramo"
    " main, não {revision}.",
    "note.launch_nodes": "{nodes} máquinas: execute o comando em cada uma, com {option} {values},"
    " um valor por máquina, e o endereço da primeira em vez de {address}.",
    "note.launch_headless": "Em todas as máquinas menos a primeira, acrescente --headless.",
    "note.launch_one_node": "{nodes} máquinas: o comando de {engine} é para uma delas e não as"
    " liga entre si.",
    # Training.
    "note.training_fits": "Treina aqui com {headroom_bytes} de folga em cada GPU.",
    "note.training_tight": "Provavelmente treina aqui, mas sobram só {headroom_bytes} em cada GPU.",
    "note.training_does_not_fit": "Não cabe: faltam {headroom_bytes} em cada GPU.",
    "note.training_none": "{devices} GPUs, cada uma com tudo.",
    "note.training_ddp": "{devices} réplicas trocam gradientes (DDP); cada GPU guarda o estado "
    "inteiro.",
    "note.training_fsdp": "Pesos, gradientes e estados do otimizador são divididos por "
    "{devices} GPUs (FSDP).",
    "note.training_zero1": "Os estados do otimizador são divididos por {devices} GPUs (ZeRO-1).",
    "note.training_zero2": "Estados do otimizador e gradientes são divididos por {devices} GPUs "
    "(ZeRO-2).",
    "note.training_zero3": "Pesos, gradientes e estados do otimizador são divididos por "
    "{devices} GPUs (ZeRO-3).",
    "note.training_network": "Mais GPUs do que uma malha liga: supõe-se uma rede de {gbit} "
    "Gbit/s por GPU.",
    "note.training_without_bf16": "Sem BF16: FP16 com escala da perda, menos estável.",
    "note.training_software": "Frameworks de treino raramente rodam em {software}.",
    "note.training_speed_unmeasured": "Não há treino publicado nos dados para esta classe de "
    "GPU: a velocidade é uma estimativa cautelosa.",
    "note.training_host_memory": "{ram_bytes} de memória do sistema guardam o que foi "
    "descarregado.",
    "note.training_of_pipeline": "Um modelo de imagem ou vídeo: treina-se a rede de remoção de "
    "ruído, sequence_length conta os seus tokens (4096 para 1024 x 1024 pixels), convoluções "
    "não são contadas. Quase não há medições publicadas: faixas largas.",
    "note.training_of_encoder": "Não é um gerador de texto: quase todas as medições são desses, "
    "por isso as faixas são largas.",
    "note.training_without_tensors": "Não foi possível ler os tensores: as matrizes seguem o "
    "usual num modelo deste tamanho.",
    "note.training_beyond_context": "{asked} tokens são mais do que os {longest} do modelo: "
    "posições além disso precisam ser aprendidas.",
    "note.training_of_gguf": "Arquivos GGUF servem para executar: treinar exige os pesos "
    "originais, cujas formas são usadas aqui.",
    "note.training_lengths": "Com sequências de tamanhos variados, o PyTorch pode mostrar "
    "{shown_bytes} em uso em cada GPU; ele devolve o que não é necessário antes de faltar.",
    "note.train_flash": "Ative o flash attention.",
    "note.train_checkpointing": "Gradient checkpointing: recalcular ativações, cerca de um "
    "terço mais lento.",
    "note.train_fused_loss": "Entropia cruzada fundida (Liger, CCE): os logits nunca ficam "
    "inteiros na memória.",
    "note.train_micro_batch": "Uma sequência por vez, {accumulation} gradientes somados antes "
    "de cada atualização.",
    "note.train_8bit_optimizer": "Guarde os estados do otimizador em 8 bits.",
    "note.train_lora": "LoRA de posto {rank}: treine adaptadores em vez dos pesos.",
    "note.train_qlora": "QLoRA: guarde os pesos congelados em 4 bits (NF4).",
    "note.train_offload_optimizer": "Guarde os estados do otimizador na memória do sistema, "
    "mais lento.",
    "note.train_shard": "Divida tudo por {devices} GPUs (FSDP).",
    "note.train_offload_all": "Guarde pesos, estados e ativações na memória do sistema, muito "
    "mais lento.",
    "note.training_nvme": "{disk_bytes} em discos NVMe guardam o que foi descarregado, com "
    "buffers na memória do sistema.",
    "note.training_without_images": "Conta-se só o texto: imagens e som trazem tokens e ativações "
    "próprios.",
    "note.training_of_experts": "Os especialistas são contados em 4 bits: o bitsandbytes só os"
    " quantiza onde cada um é uma camada linear própria, não onde estão fundidos.",
}
