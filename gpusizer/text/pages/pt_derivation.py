"""Brazilian Portuguese: how each number comes about."""

STRINGS: dict[str, str] = {
    "page.derivation": "De onde vem cada número",
    "page.derivation.tensors": "tamanhos dos tensores nos arquivos, conforme os cabeçalhos",
    "page.derivation.typed": "parâmetros × bits por peso ÷ 8: cada tensor no tipo que "
    "esta quantização lhe dá",
    "page.derivation.layers": "camadas × (chaves + valores) × bytes de cada × tokens (× "
    "sequências)",
    "page.derivation.window": "camadas que lembram uma janela: × os tokens da janela",
    "page.derivation.state": "camadas recorrentes × estado × 4 bytes (× sequências), seja "
    "qual for o texto",
    "page.derivation.engine.weights": "o que {engine} acrescenta (tabelas, preenchimento, outros "
    "formatos) ou deixa fora da GPU (embedding de entrada, camadas de rascunho)",
    "page.derivation.engine.kv_cache": "o que {engine} faz disso: blocos inteiros, janelas mais "
    "longas, cópias paralelas",
    "page.derivation.activations": "memória de trabalho de um passo no {engine}: buffers pelas "
    "regras dele, constantes ajustadas a logs publicados.",
    "page.derivation.overhead": "contexto CUDA, kernels, grafos e bibliotecas do {engine}, "
    "ajustados a logs publicados.",
    "page.derivation.outside": "o mesmo, fora da parte da placa com que {engine} conta.",
}
