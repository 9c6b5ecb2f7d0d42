"""Português do Brasil: como os números são feitos, e a API."""

STRINGS: dict[str, str] = {
    "page.method.title": "Como isto é calculado",
    "page.method.parameters.title": "Parâmetros",
    "page.method.parameters.text": "Formato e tipo de cada tensor, lidos dos cabeçalhos dos"
    " arquivos de pesos. Pesos empacotados são desempacotados, uma matriz compartilhada conta uma"
    " vez, buffers não contam.",
    "page.method.weights.title": "Pesos em outra precisão",
    "page.method.weights.text": "Cada tensor no layout do formato: tamanho dos blocos, escalas e os"
    " tensores que ficam largos. Os layouts seguem llama.cpp, compressed-tensors, AutoGPTQ,"
    " AutoAWQ, bitsandbytes, ExLlama, MLX e a especificação OCP Microscaling.",
    "page.method.kv_cache.title": "Cache KV",
    "page.method.kv_cache.text": "2 × camadas × cabeças KV × dimensão da cabeça × bytes × tokens ×"
    " sequências, camada por camada: janelas deslizantes param de crescer, a atenção latente (MLA)"
    " guarda um só vetor, camadas recorrentes mantêm um estado fixo.",
    "page.method.runtime.title": "Ativações e overhead",
    "page.method.runtime.text": "Fórmulas de cada motor (tamanho do passo, logits, grafos, contexto"
    " CUDA) com constantes ajustadas a logs de inicialização publicados. A faixa é a dispersão"
    " deles.",
    "page.method.fit.title": "Se cabe",
    "page.method.fit.text": "“Cabe” vale até o topo da faixa, contra a memória que o driver informa"
    " e não o número da caixa, e dentro da parte que o motor usa (o vLLM deixa cerca de um décimo"
    " livre). “No limite” vale só para o valor provável.",
    "page.method.speed.title": "Velocidade",
    "page.method.speed.text": "Tokens por segundo = eficiência × largura de banda ÷ bytes lidos por"
    " token, mais um tempo fixo por camada. As duas constantes vêm de execuções publicadas, por"
    " motor e classe de GPU. Tempos e totais supõem que três quartos do contexto são prompt.",
    "page.method.prices.title": "Preços",
    "page.method.prices.text": "Preços de lançamento, alguns preços de mercado e aluguéis da"
    " RunPod, cada um com sua data. Não são ao vivo.",
    "page.limits.title": "O que não dá para saber",
    "page.limits.bands": "Driver, área de trabalho e outros programas também usam memória: deixe"
    " cerca de 1 GiB livre na placa que alimenta um monitor.",
    "page.limits.engines": "Motores mudam seus padrões entre versões; as constantes dizem em quais"
    " versões foram ajustadas.",
    "page.limits.multi": "Várias GPUs são o caso mais incerto: conexões, topologia e configuração"
    " mudam muito a velocidade.",
    "page.limits.offline": "Um modelo respondido pela cópia embutida mostra o dia da leitura; o"
    " repositório pode ter mudado depois.",
    "page.api.title": "Use em um programa",
    "page.api.lead": "Cinco endpoints, sem chave. Tamanhos em bytes inteiros. Nomes e valores dos"
    " campos ficam em inglês em todos os idiomas.",
    "page.api.size": "dimensiona um modelo: dados, memória em cada quantização, ranking de GPUs.",
    "page.api.list": "lista o catálogo de GPUs, ou a parte que combina com a busca.",
    "page.api.compare": "põe GPUs lado a lado e, com um modelo, como ele roda em cada uma.",
    "page.api.errors": "Um pedido que não pode ser respondido recebe um objeto de erro: um código"
    " estável, uma mensagem e os dados.",
    "page.copy": "Copiar",
    "page.copied": "Copiado",
}
