"""简体中文：与实测值的差距。"""

STRINGS: dict[str, str] = {
    "page.accuracy.title": "凭什么可信",
    "page.accuracy.lead": "{count} 条公开实测数据，用回答您的同一套代码预测。误差为占"
    "实测值的比例；最近更新 {date}。",
    "page.accuracy.all": "所有引擎与组成部分",
    "page.accuracy.how": "同一配置的重复运行只计一次。“粗算”指参数量 × 字节数，每层套用常"
    "见的 KV 缓存公式，再加 20%。“hf-mem”指该工具 {release} 版：能作答时的平均误差，"
    "括号内为作答数/提问数。小部件的比例误差可能很大，但折合 GiB 并不多"
    "。GGUF 文件中，某些发布者自选的张量类型按已知处理，其中一部分正是从这些文件推出的"
    "。最差情况附有来源链接。",
    "page.accuracy.verdicts": "已知显存、因显存不足而失败的公开运行共 {runs} 次，其中"
    "我们会误判为“装得下”的有 {said} 次。",
    "page.accuracy.others": "除 {sweep} 以外的所有来源",
    "page.accuracy.sweep": "仅 {sweep}：一家实验室、一台主机",
    "page.accuracy.stated": "请求能描述的运行：旁边没有适配器、训练程序或其他占用者",
    "page.accuracy.mean_of": "{n} 种配置的平均误差",
    "page.accuracy.ours": "本站预测",
    "page.accuracy.naive": "粗算",
    "page.accuracy.gguf": "GGUF 文件",
    "page.accuracy.source": "最差情况：{error}，来源",
    "page.column.component": "组成部分",
    "page.column.n": "配置数",
    "page.column.median": "中位数",
    "page.column.mean": "平均",
    "page.column.bias": "偏差",
    "page.column.p95": "95% 以内",
    "page.column.mean_gib": "平均 GiB",
    "page.column.naive": "粗算平均",
    "page.column.hf_mem": "hf-mem 平均",
    "page.column.worst": "最差",
    "page.component.weights": "权重",
    "page.component.weights_on_gpus": "GPU 上的权重",
    "page.component.kv_per_token": "每 token KV 缓存",
    "page.component.kv_per_sequence": "每序列 KV 缓存",
    "page.component.kv_pool": "KV 缓存池",
    "page.component.activations": "激活峰值",
    "page.component.non_torch": "PyTorch 之外的显存",
    "page.component.graphs": "CUDA Graph 占用",
    "page.component.max_concurrency": "最大并发",
    "page.component.kv_cache": "KV 缓存",
    "page.component.compute": "计算缓冲区",
    "page.component.process_total": "整个进程",
    "page.component.file_size": "文件大小",
    "page.component.uniform_tensors": "同一类型的张量",
    "page.component.pipeline_peak": "管线峰值",
    "page.component.denoiser_peak": "去噪器峰值",
    "page.component.decoder_peak": "解码器峰值",
}
