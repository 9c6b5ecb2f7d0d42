"""Brazilian Portuguese: fine-tuning."""

STRINGS: dict[str, str] = {
    "page.tab.train": "Ajuste fino",
    "page.train.go": "Dimensionar treino",
    "page.train.method": "Método",
    "page.train.sequence": "Comprimento da sequência",
    "page.train.batch": "Micro-lote",
    "page.train.gpu": "GPUs (opcional)",
    "page.train.headline": "{method} de {model} usa {total} em cada GPU.",
    "page.train.details": "Entre {low} e {high}, com sequências de {sequence} tokens ×"
    " {batch}; {trained} parâmetros são treinados.",
    "page.train.ladder": "O que economizaria memória, um passo após o outro",
    "page.train.rung": "economiza {saving}; cada GPU precisa então de {total}",
    "page.train.gpus": "GPUs que o treinam: 10 milhões de tokens",
    "page.train.nothing": "Nenhuma GPU do catálogo treina isto.",
    "page.column.train_speed": "tok/s no treino",
    "page.column.hours": "Horas",
    "page.column.usd": "Aluguel, execução toda",
    "page.column.energy": "kWh",
}
