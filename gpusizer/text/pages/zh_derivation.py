"""Simplified Chinese: how each number comes about."""

STRINGS: dict[str, str] = {
    "page.derivation": "每个数字是怎么算出来的",
    "page.derivation.tensors": "文件头中各张量大小之和",
    "page.derivation.typed": "参数量 × 每权重比特 ÷ 8：每个张量按该量化所用的类型计",
    "page.derivation.layers": "层数 ×（K + V）× 每元素字节 × token 数（× 并发）",
    "page.derivation.window": "只记住窗口的层：改乘窗口长度",
    "page.derivation.state": "循环层数 × 状态 × 4 字节（× 并发），与文本长度无关",
    "page.derivation.engine.weights": "{engine} 额外占用（表、填充、其他布局）"
    "或不放进显存（输入嵌入、草稿层）的部分",
    "page.derivation.engine.kv_cache": "{engine} 的实际分配：按整块、更长的窗口、并行副本",
    "page.derivation.activations": "{engine} 每一步的工作显存：缓冲区按其自身规则，"
    "常数由公开日志拟合。",
    "page.derivation.overhead": "{engine} 的 CUDA 上下文、内核、计算图和库，由公开日志拟合。",
    "page.derivation.outside": "同上，但不在 {engine} 预算的那部分显存之内。",
}
