"""Simplified Chinese: the tabs, and the catalogue's table."""

STRINGS: dict[str, str] = {
    "page.hint": "本页有简体中文版",
    "page.api.train": "微调：显存、节省办法、显卡、时间与费用。",
    "page.api.reverse": "一张显卡或一台混插机器能跑哪些模型。",
    "page.api.all": "全部参数：",
    "page.api.mcp": "同样的端点也是 Model Context Protocol 的工具，地址：",
    "page.sign_in": "登录：读取受限模型，使用已保存的显卡",
    "page.tab.size": "模型要多少显存",
    "page.tab.compare": "显卡对比",
    "page.tab.reverse": "我的显卡能跑什么",
    "page.tab.catalogue": "显卡目录",
    "page.tab.know": "数据从何而来",
    "page.compare.model": "模型（可不填）",
    "page.compare.go": "对比",
    "page.catalogue.title": "{count} 款显卡",
    "page.catalogue.lead": "可用显存是驱动报告的数值，不是包装上的数字。"
    "算力均为稠密值，按整块板卡计。短横线表示未知，不是零。",
    "page.catalogue.filter": "按名称、厂商或代际筛选",
    "page.catalogue.none": "没有显卡的名称同时包含这些词。",
    "page.column.usable": "可用 GiB",
    "page.column.bandwidth": "GB/s",
    "page.column.fp16": "FP16 TFLOPS",
    "page.column.links": "板卡间互联",
    "page.column.year": "年份",
}
