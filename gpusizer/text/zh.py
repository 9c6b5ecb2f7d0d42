"""简体中文。"""

STRINGS: dict[str, str] = {
    # Errors: one clear sentence each.
    "error.invalid_model_id": "“{value}”不是有效的模型 ID：{reason}。",
    "error.invalid_request": "{field} = “{value}”无法使用：{reason}。",
    "error.unknown_gpu": "目录中没有名为“{value}”的 GPU。",
    "error.unknown_quant": "没有名为“{value}”的量化方式。",
    "error.unknown_engine": "没有名为“{value}”的推理引擎。",
    "error.did_you_mean": "您要找的是 {names} 吗？",
    "error.model_not_found": "Hub 上没有名为 {repo_id} 的模型。",
    "error.private_or_missing": "{repo_id} 是私有模型或不存在；"
    "没有访问权限时，Hub 不会说明是哪一种。",
    "error.revision_not_found": "{repo_id} 没有名为“{revision}”的版本。",
    "error.file_not_found": "{repo_id} 中没有文件 {path}。",
    "error.gated_model": "{repo_id} 需要申请访问权限：作者在 Hub 上批准后才能读取文件。",
    "error.no_weights": "{repo_id} 中没有 safetensors 权重（{formats}）。",
    "error.malformed_repo": "{repo_id}：文件 {path} 不符合其格式（{reason}）。",
    "error.limits_exceeded": "{repo_id} 超出了本服务的读取上限：{limit} 最多为 {allowed}。",
    "error.unsupported_dtype": "{repo_id} 的张量类型为 {dtype}，safetensors 格式没有定义这种类型。",
    "error.hub_unreachable": "Hub 未能及时给出关于 {repo_id} 的有效回应（{reason}）。",
    "error.hub_rate_limited": "Hub 要求放慢请求；请在 {retry_after_seconds} 秒后重试 {repo_id}。",
    "error.internal": "gpusizer 内部出错，问题已记录。",
    # Reasons that complete an error.
    "reason.empty": "没有输入内容",
    "reason.too_long": "内容过长",
    "reason.characters": "含有空格或模型 ID 不允许的字符",
    "reason.dataset": "这是数据集的地址",
    "reason.space": "这是 Space 的地址",
    "reason.other_host": "这不是 Hugging Face Hub 的地址",
    "reason.shape": "应为“组织名/模型名”或 huggingface.co 网址",
    "reason.out_of_range": "应在 {low} 到 {high} 之间",
    "reason.not_one_of": "应为以下之一：{choices}",
    "reason.not_json": "不是有效的 JSON",
    "reason.not_an_object": "应为 JSON 对象",
    "reason.timeout": "耗时过长",
    "reason.not_an_integer": "应为整数",
    "reason.not_a_number": "应为数字",
    "reason.not_a_boolean": "应为 true 或 false",
    "reason.not_text": "应为文本",
    "reason.not_a_list": "应为列表",
    "reason.unknown_field": "没有这个字段",
    "reason.cannot_be_split": "模型无法拆分到这么多 GPU 上",
    "reason.offline": "当前离线，且内置快照中没有该模型",
    # Caveats about a model.
    "note.embedded_snapshot": "结果来自 {date} 的内置快照，而非实时读取 Hub。",
    "note.mtp_layers_counted": "其中 {parameters} 参数属于多 token 预测层（MTP）：此处计入，"
    "但多数引擎不会加载。",
    "note.tied_matrix_stored_twice": "输出层与词嵌入相同：文件中存了两份，只计一次。",
    "note.already_quantized": "该检查点已经量化（{method}，{bits}-bit）："
    "更高精度的行需要原始权重。",
    "note.quantization_width_unknown": "该检查点用 {method} 量化，"
    "但配置没有给出位宽：参数按存储方式计数。",
    "note.architecture_unknown": "没有找到语言模型配置：不估算 KV 缓存和速度。",
    "note.recovered_from_tensors": "config.json 缺少 {facts}，已改从张量形状读取。",
    "note.class_defaults_used": "config.json 缺少 {facts}，已采用该模型类的默认值。",
    "note.other_copies_not_counted": "另有 {count} 个权重文件以其他格式重复存储了该模型"
    "（如 {path}），未计入。",
    "note.context_shortened": "{asked} token 超过了模型上限 {longest}：按 {longest} 计算。",
    "note.not_modelled": "尚未建模、对结果没有影响：{facts}。",
    # Verdicts.
    "verdict.fits": "装得下",
    "verdict.tight": "勉强",
    "verdict.offload": "需卸载到内存",
    "verdict.does_not_fit": "装不下",
    "answer.nothing_fits": "目录中没有 GPU 能运行它，增加数量也不行。",
    # Reasons in a ranking.
    "note.verdict_fits": "{quant} + {engine} 装得下，每块 GPU 剩余 {headroom_bytes}。",
    "note.verdict_tight": "{quant} + {engine} 大概率装得下，但每块 GPU 只剩 {headroom_bytes}。",
    "note.verdict_offload": "{quant} 超出显存 {headroom_bytes}：部分层要放到系统内存中运行。",
    "note.verdict_does_not_fit": "装不下：{quant} 每块 GPU 还差 {headroom_bytes}。",
    "note.no_fast_interconnect": "没有 NVLink 一类的高速互联：GPU 之间走 PCIe。",
    "note.usable_memory_not_observed": "可用显存是对规格表的保守估计，并非实测。",
    "note.may_run_out": "若达到估算上限，显存会不足。",
    # How a repository was read.
    "note.gated_totals": "文件需要访问权限：总量来自 Hub 的 API 和文件列表；"
    "取决于单个张量或配置的内容为估算或省略。",
    "note.sizes_from_files": "权重为 pickle 格式，本工具从不打开："
    "参数量由文件字节数除以配置中数据类型的宽度得出。",
    "note.one_copy_counted": "仓库中有多份权重：计入 {counted}，未计入 {path}。",
    "note.repo_renamed": "{asked} 现已更名为 {repo_id}。",
    "note.read_from_mirror": "文件需要访问权限：改读无需权限的副本 {mirror}，"
    "两者各数据类型的参数量相同。",
    "note.base_model_added": "这是一个适配器：与其指定的基础模型 {base} 合并计算。",
    "note.base_model_not_read": "这是一个适配器，仅计算自身："
    "无法读取其基础模型 {base}（{reason}）。",
    "note.base_model_not_named": "这是一个适配器，仅计算自身：它没有说明所属的基础模型。",
    "error.private_or_missing.disabled": "{repo_id} 已被 Hub 停用。",
    "error.no_weights.empty": "{repo_id} 是空仓库：没有任何权重。",
    "note.quantized_repos_not_listed": "无法列出 {repo_id} 的量化仓库（{reason}）。",
}
