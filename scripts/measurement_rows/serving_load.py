"""Converts measured runs of servers under load to rows of `serving_load.jsonl`."""

from __future__ import annotations

import csv
import re
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import toml_of
from scripts.measurement_rows.common import Match, ModelMap, Row, compact, copied, gpu_slug

_TABLES = toml_of(__file__)
_ENGINES = _TABLES["engines"]
_QUANTS = _TABLES["quants"]

_SAME_SHAPES = _TABLES["same_shapes"]

_ARRIVALS = _TABLES["arrivals"]
_SETTINGS = ("max_num_seqs", "max_num_batched_tokens", "enforce_eager", "power_limit_w", "link")
_ARGUMENTS = _TABLES["arguments"]
_FACTS = {"flags": str, "kv_dtype": str, "longest_answer_tokens": int, "requests": int}
"""Fields that `serving_load_facts.csv` states, with the parser of their values."""
_MADE_UP_WEIGHTS = "made-up weights"
_EXPERTS = re.compile(r"\dx\d+B")
_MEASURED = {
    "output_tokens_per_second": ("output_tok_s", 1.0),
    "total_tokens_per_second": ("total_tok_s", 1.0),
    "ttft_seconds": ("ttft_mean_ms", 1e-3),
    "ttft_p50_seconds": ("ttft_p50_ms", 1e-3),
    "ttft_p99_seconds": ("ttft_p99_ms", 1e-3),
    "tpot_seconds": ("tpot_mean_ms", 1e-3),
    "tpot_p50_seconds": ("tpot_p50_ms", 1e-3),
    "itl_seconds": ("itl_mean_ms", 1e-3),
    "itl_p50_seconds": ("itl_p50_ms", 1e-3),
    "e2e_seconds": ("e2e_mean_s", 1.0),
    "requests_per_second": ("request_rate_achieved", 1.0),
}


def convert(run: Row, models: ModelMap) -> Row | None:
    """Convert one run; None without a model, a card, an address, and for figures in doubt."""
    match = models.find(run["model"]) or _same_shapes(run["model"], models)
    url, gpu = _address(run["source"]), _gpu(run["gpu"])
    if match is None or url is None or gpu is None or run["quality"] != "ok":
        return None
    options, facts = run["options"] or {}, dict(_facts().get(run["id"], {}))
    flags = [*_flags(run), *([facts.pop("flags")] if "flags" in facts else [])]
    measured = {
        name: float(f"{run[field] * unit:.6g}")
        for name, (field, unit) in _MEASURED.items()
        if run.get(field) is not None
    }
    return compact(
        {
            "kind": "serving_load",
            **copied(run, _TABLES["copied"]),
            "source_url": url,
            "profile": match.profile,
            "profile_basis": match.basis,
            "engine": _ENGINES[run["engine"]],
            "quant": _QUANTS[run["weights"]],
            "gpu_slug": gpu,
            "replicas": run["data_parallel"] if (run["data_parallel"] or 1) > 1 else None,
            "expert_parallel": _experts_dealt(run["expert_parallel"]),
            "lengths": "fixed" if (run["lengths"] or "").startswith("fixed") else "spread",
            "arrival": _ARRIVALS[run["arrival"]],
            "concurrency": run["max_concurrency"] or _sent_at_once(run),
            "flags": flags,
            **{name: options.get(name) for name in _SETTINGS},
            "utilization": options.get("gpu_memory_utilization"),
            **_on_command_line(options),
            **facts,
            "measured": measured,
        }
    )


def _sent_at_once(run: Row) -> int | None:
    return run["num_requests"] if run["arrival"] == "offline, all at once" else None


def _experts_dealt(value: int | bool | None) -> bool | None:
    return None if value is None else value is True or value > 1


@cache
def _facts() -> dict[str, Row]:
    """Read what a source says elsewhere than beside its figures, by row ID."""
    facts: dict[str, Row] = {}
    path = DATA_DIR / "measurements" / "serving_load_facts.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for fact in csv.DictReader(file):
            value = _FACTS[fact["field"]](fact["value"])
            facts.setdefault(fact["id"], {})[fact["field"]] = value
    return facts


def _flags(run: Row) -> list[str]:
    """Circumstances that no request can state."""
    flags = {
        "drafts": run["spec_decode"] not in (None, "none"),
        "separate_prefill": bool(run["disagg"]),
        "data_parallel_attention": bool(run["dp_attention"]),
        "private_kernels": "private" in (run["engine_version"] or ""),
        "made_up_routing": _MADE_UP_WEIGHTS in (run.get("notes") or "")
        and _EXPERTS.search(run["model"]) is not None,
    }
    return [name for name, present in flags.items() if present]


def _on_command_line(options: Row) -> Row:
    text = " ".join(str(options.get(name, "")) for name in ("launch", "args"))
    found = {name: re.search(pattern, text) for name, pattern in _ARGUMENTS.items()}
    numbers = {name: float(hit[1]) for name, hit in found.items() if hit}
    return {name: int(n) if n.is_integer() else n for name, n in numbers.items()}


def _same_shapes(repo_id: str, models: ModelMap) -> Match | None:
    target = models.find(_SAME_SHAPES.get(repo_id))
    return None if target is None else Match(target.profile, "same_shapes")


def _address(text: str) -> str | None:
    """The address of "owner/repository path@commit"; None for a source that names no place."""
    if text.startswith("https://"):
        return text.split()[0]
    named = re.match(r"([\w.-]+/[\w.-]+) (\S+)@([0-9a-f]{7,40})", text)
    if named is None:
        return None
    repository, path, commit = named.groups()
    return f"https://github.com/{repository}/blob/{commit}/{path}"


def _gpu(name: str) -> str | None:
    """The catalogue's card of a name; the size on the label may differ from the catalogue's."""
    plain, _, size = name.rpartition(" ")
    return gpu_slug(name, plain if size.endswith("GB") else name)
