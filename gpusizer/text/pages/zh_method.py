"""简体中文：计算方法与 API。"""

STRINGS: dict[str, str] = {
    "page.method.title": "计算方法",
    "page.method.parameters.title": "参数量",
    "page.method.parameters.text": "读取权重文件头中每个张量的形状和数据类型。"
    "打包的量化权重会还原，共享的矩阵只算一次，缓冲区不计。",
    "page.method.weights.title": "其他精度下的权重",
    "page.method.weights.text": "逐个张量按该格式的布局计算：分块大小、缩放系数，"
    "以及保持高精度的张量。布局依据 llama.cpp、compressed-tensors、AutoGPTQ、AutoAWQ、"
    "bitsandbytes、ExLlama、MLX 和 OCP Microscaling 规范。",
    "page.method.kv_cache.title": "KV 缓存",
    "page.method.kv_cache.text": "2 × 层数 × KV 头数 × 头维度 × 字节数 × token 数 × 序列数，"
    "逐层计算：滑动窗口层到窗口为止，MLA 每 token 只存一个潜向量，循环层只有固定状态。",
    "page.method.runtime.title": "激活与额外开销",
    "page.method.runtime.text": "按各引擎的公式（步长、logits、CUDA Graph、CUDA 上下文）计算，"
    "常数由公开的启动日志拟合，误差范围即其离散程度。",
    "page.method.fit.title": "是否装得下",
    "page.method.fit.text": "“装得下”指误差上限也能满足，对照的是驱动报告的显存而非包装上的数字，"
    "并扣除引擎不用的部分（vLLM 约保留十分之一）。“勉强”指只有最可能值能满足。",
    "page.method.speed.title": "速度",
    "page.method.speed.text": "每秒 token 数 = 效率 × 带宽 ÷ 每 token 读取字节数，"
    "另加每层固定耗时。两个常数按引擎和 GPU 类别取自公开的实测结果。"
    "时间与合计值假定上下文的四分之三是提示词。",
    "page.method.prices.title": "价格",
    "page.method.prices.text": "首发价、部分市场价和 RunPod 租价，均注明日期，并非实时价格。",
    "page.limits.title": "无法得知的部分",
    "page.limits.bands": "驱动、桌面和其他程序也占显存：接显示器的卡请留出约 1 GiB。",
    "page.limits.engines": "引擎的默认值会随版本变化，常数标明了拟合所用的版本。",
    "page.limits.multi": "多卡的不确定性最大：互联、拓扑和设置对速度影响很大。",
    "page.limits.offline": "来自内置快照的结果会标明读取日期，仓库此后可能已有更新。",
    "page.api.title": "在程序中调用",
    "page.api.lead": "五个端点，无需密钥。大小均为整数字节。所有语言下字段名和取值都是英文。",
    "page.api.size": "计算一个模型：基本信息、各量化级别的显存、GPU 排名。",
    "page.api.list": "列出 GPU 目录，或其中符合查询的部分。",
    "page.api.compare": "并排对比多款 GPU；给出模型时还包括运行情况。",
    "page.api.errors": "无法回答的请求会返回错误对象：固定的代码、说明和相关信息。",
    "page.copy": "复制",
    "page.copied": "已复制",
}
