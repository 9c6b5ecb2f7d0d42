"""简体中文：图表。"""

STRINGS: dict[str, str] = {
    "page.pictures.summary": "用图表查看",
    "page.pictures.numbers": "以表格查看数值",
    "page.pictures.beyond": "超出图的范围",
    "page.pictures.lines": "带字母的线是并排对比的 GPU 的可用显存，引擎还会预留一部分。",
    "page.pictures.memory.title": "显存与显卡容量",
    "page.pictures.memory.lead": "上下文 {context} token × {concurrency} 路并发时的估计值（GiB）。",
    "page.pictures.context.title": "显存随上下文变化",
    "page.pictures.context.lead": "{concurrency} 路并发时直到最长上下文的估计值，单位 GiB。"
    "点线：所填的 {context} token。",
    "page.pictures.axis.context": "上下文 token 数",
    "page.pictures.buy.title": "价格与速度：购买",
    "page.pictures.rent.title": "价格与速度：租用",
    "page.pictures.price.lead": "排名中每个已知价格的 GPU 是一个点，速度按单用户计。"
    "线上带编号的点：没有同价或更便宜的能达到它的速度。",
    "page.pictures.price.dearer": "更贵、只列在表格中的：{count} 个。",
    "page.pictures.axis.buy": "全部显卡的价格",
    "page.pictures.axis.rent": "全部显卡每小时租价",
    "page.pictures.users.total": "总速度随用户数变化",
    "page.pictures.users.per_user": "每用户速度随用户数变化",
    "page.pictures.users.lead": "点线：KV 缓存已满（{users}）。",
    "page.pictures.axis.users": "同时在线用户数",
    "page.pictures.training.title": "各训练方法的显存",
    "page.pictures.training.lead": "各方法各部分的估计值，单位 GiB。",
    "page.part.gradients": "梯度",
    "page.part.optimizer": "优化器",
    "page.part.adapters": "适配器",
    "page.column.context": "上下文 token 数",
    "page.column.frontier": "同价最快",
    "page.column.method": "方法",
}
