"""Português do Brasil: a que distância os números ficam das medições."""

STRINGS: dict[str, str] = {
    "page.accuracy.title": "Como sabemos",
    "page.accuracy.lead": "{count} medições publicadas, previstas pelo mesmo código que"
    " responde a você. Os erros são frações do valor medido; última mudança em {date}.",
    "page.accuracy.all": "Todos os motores e componentes",
    "page.accuracy.how": "Execuções repetidas de uma configuração contam uma vez. “Ingênuo” é"
    " parâmetros × bytes, a fórmula usual do cache KV em todas as camadas e mais 20%. “hf-mem” é"
    " essa ferramenta, {release}: erro médio quando responde, respondidas de perguntadas"
    " entre parênteses. Partes pequenas podem errar muito em fração e pouco em"
    " GiB. Dos arquivos GGUF, os tipos que alguns autores escolhem contam como conhecidos, em"
    " parte deduzidos destes mesmos arquivos. O pior caso leva à sua fonte.",
    "page.accuracy.verdicts": "Execuções publicadas que ficaram sem memória em uma placa de"
    " tamanho conhecido: {runs}; destas, diríamos “cabe” para: {said}.",
    "page.accuracy.others": "Todos, menos {sweep}",
    "page.accuracy.sweep": "Só {sweep}: um laboratório, uma máquina",
    "page.accuracy.stated": "Execuções que um pedido descreve: só o motor na placa",
    "page.accuracy.mean_of": "erro médio em {n} configurações",
    "page.accuracy.ours": "gpusizer",
    "page.accuracy.naive": "ingênuo",
    "page.accuracy.gguf": "Arquivos GGUF",
    "page.accuracy.source": "Pior caso: {error}, fonte",
    "page.column.component": "Componente",
    "page.column.n": "n",
    "page.column.median": "Mediana",
    "page.column.mean": "Média",
    "page.column.bias": "Viés",
    "page.column.p95": "95% até",
    "page.column.mean_gib": "Média GiB",
    "page.column.naive": "Média ingênua",
    "page.column.hf_mem": "Média hf-mem",
    "page.column.worst": "Pior",
    "page.component.weights": "pesos",
    "page.component.weights_on_gpus": "pesos nas GPUs",
    "page.component.kv_per_token": "cache KV por token",
    "page.component.kv_per_sequence": "cache KV por sequência",
    "page.component.kv_pool": "reserva do cache KV",
    "page.component.activations": "pico de ativações",
    "page.component.non_torch": "memória fora do PyTorch",
    "page.component.graphs": "grafos CUDA",
    "page.component.max_concurrency": "máximo de usuários",
    "page.component.kv_cache": "cache KV",
    "page.component.compute": "buffer de cálculo",
    "page.component.process_total": "processo inteiro",
    "page.component.file_size": "tamanho do arquivo",
    "page.component.uniform_tensors": "tensores de um só tipo",
    "page.component.pipeline_peak": "pico de um pipeline",
    "page.component.denoiser_peak": "pico de um denoiser",
    "page.component.decoder_peak": "pico de um decodificador",
}
