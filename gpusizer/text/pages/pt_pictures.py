"""Português do Brasil: as figuras."""

STRINGS: dict[str, str] = {
    "page.pictures.summary": "Ver em figuras",
    "page.pictures.numbers": "Os números em tabela",
    "page.pictures.beyond": "além da borda da figura",
    "page.pictures.lines": "Linhas com letras: memória utilizável das GPUs lado a lado; os motores"
    " reservam uma parte dela.",
    "page.pictures.memory.title": "Memória e suas placas",
    "page.pictures.memory.lead": "GiB prováveis para {context} tokens de contexto × {concurrency}"
    " ao mesmo tempo.",
    "page.pictures.context.title": "Memória ao longo do contexto",
    "page.pictures.context.lead": "GiB prováveis com {concurrency} ao mesmo tempo, até o maior"
    " contexto. Pontilhado: os {context} tokens pedidos.",
    "page.pictures.axis.context": "tokens de contexto",
    "page.pictures.buy.title": "Preço e velocidade, na compra",
    "page.pictures.rent.title": "Preço e velocidade, no aluguel",
    "page.pictures.price.lead": "Um ponto para cada GPU da classificação com preço conhecido; a"
    " velocidade é de um usuário. Numeradas, na linha: nenhuma tão barata é tão rápida.",
    "page.pictures.price.dearer": "Mais caras, só na tabela: {count}.",
    "page.pictures.axis.buy": "preço de todas as placas",
    "page.pictures.axis.rent": "aluguel de todas as placas por hora",
    "page.pictures.users.total": "Velocidade total, por usuários",
    "page.pictures.users.per_user": "Velocidade de cada usuário, por usuários",
    "page.pictures.users.lead": "Pontilhado: o cache KV está cheio ({users}).",
    "page.pictures.axis.users": "usuários ao mesmo tempo",
    "page.pictures.training.title": "Memória de treino, por método",
    "page.pictures.training.lead": "GiB prováveis de cada método, parte por parte.",
    "page.part.gradients": "gradientes",
    "page.part.optimizer": "otimizador",
    "page.part.adapters": "adaptadores",
    "page.column.context": "Tokens de contexto",
    "page.column.frontier": "Nada mais barato é tão rápido",
    "page.column.method": "Método",
}
