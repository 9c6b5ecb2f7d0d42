"""Brazilian Portuguese: the tabs, and the catalogue's table."""

STRINGS: dict[str, str] = {
    "page.hint": "Esta página em português",
    "page.api.train": "ajuste fino: memória, economias, GPUs, horas e dólares.",
    "page.api.reverse": "quais modelos uma placa ou uma máquina de placas mistas roda.",
    "page.api.all": "Todos os parâmetros de cada um:",
    "page.api.mcp": "Os mesmos endpoints são ferramentas do Model Context Protocol em",
    "page.sign_in": "Entrar: modelos restritos e suas placas salvas",
    "page.tab.size": "Dimensionar um modelo",
    "page.tab.compare": "Comparar GPUs",
    "page.tab.reverse": "O que minha GPU roda?",
    "page.tab.catalogue": "Catálogo de GPUs",
    "page.tab.know": "Como sabemos",
    "page.compare.model": "Modelo (opcional)",
    "page.compare.go": "Comparar",
    "page.catalogue.title": "{count} GPUs",
    "page.catalogue.lead": "A memória utilizável é a que o driver informa, não o número da caixa."
    " As taxas são densas, por placa. Um traço é desconhecido, não zero.",
    "page.catalogue.filter": "Filtrar por nome, fabricante ou geração",
    "page.catalogue.none": "Nenhuma GPU tem todas essas palavras no nome.",
    "page.column.usable": "GiB utilizáveis",
    "page.column.bandwidth": "GB/s",
    "page.column.fp16": "TFLOPS FP16",
    "page.column.links": "Ligação entre placas",
    "page.column.year": "Ano",
}
