"""Simplified Chinese: fine-tuning."""

STRINGS: dict[str, str] = {
    "page.tab.train": "微调",
    "page.train.go": "计算训练",
    "page.train.method": "方法",
    "page.train.sequence": "序列长度",
    "page.train.batch": "微批大小",
    "page.train.gpu": "显卡（可不填）",
    "page.train.headline": "用 {method} 训练 {model}，每张卡需要 {total}。",
    "page.train.details": "在 {low} 到 {high} 之间，序列 {sequence} token × {batch}；训练 {tra"
    "ined} 个参数。",
    "page.train.ladder": "逐步节省显存的办法",
    "page.train.rung": "节省 {saving}，之后每张显卡需要 {total}",
    "page.train.gpus": "能训练它的显卡：一千万 token",
    "page.train.nothing": "目录中没有显卡能完成这个训练。",
    "page.column.train_speed": "训练 tok/s",
    "page.column.hours": "小时",
    "page.column.usd": "整次租金",
    "page.column.energy": "kWh",
}
