"""English: fine-tuning."""

STRINGS: dict[str, str] = {
    "page.tab.train": "Fine-tune",
    "page.train.go": "Size training",
    "page.train.method": "Method",
    "page.train.sequence": "Sequence length",
    "page.train.batch": "Micro-batch",
    "page.train.gpu": "GPUs (optional)",
    "page.train.headline": "{method} of {model} takes {total} on each GPU.",
    "page.train.details": "Between {low} and {high}, for sequences of {sequence} tokens ×"
    " {batch}; {trained} parameters are trained.",
    "page.train.ladder": "What would save memory, one after the other",
    "page.train.rung": "saves {saving}, then each GPU needs {total}",
    "page.train.gpus": "GPUs that train it: 10 million tokens",
    "page.train.nothing": "No GPUs in the catalogue train this.",
    "page.column.train_speed": "tok/s in training",
    "page.column.hours": "Hours",
    "page.column.usd": "Rent, whole run",
    "page.column.energy": "kWh",
}
