"""The text of logs: prefixes, JSON lines, cuts, Hub IDs and personal data."""

from __future__ import annotations

import json

import pytest

from gpusizer.answers.logs import parse_log
from gpusizer.answers.logs.lines import MAX_CHARS, MAX_LINES, read_text
from gpusizer.answers.logs.redaction import clean, hub_id_of
from gpusizer.core.errors import InvalidRequest
from tests import engine_logs
from tests.each import each
from tests.log_facts import GIB, amounts, facts

PREFIXES = {
    "docker compose": "vllm-1  | ",
    "journal": "Nov 20 15:00:00 host ollama[812]: ",
    "kubectl": "[pod/llm-0/main] 2025-10-01T10:00:00.000000000Z ",
    "colours": "\x1b[1;36m(x)\x1b[0;0m \x1b[32m",
}


@each("log", engine_logs.ALL.values())
@each("prefix", PREFIXES.values())
def test_prefixes_change_nothing(prefix: str, log: str) -> None:
    plain = parse_log(log)
    prefixed = parse_log("".join(f"{prefix}{line}\r\n" for line in log.splitlines()))
    assert amounts(prefixed) == amounts(plain)
    assert {r.name: r.value for r in (*prefixed.facts, *prefixed.settings)} == {
        r.name: r.value for r in (*plain.facts, *plain.settings)
    }


def test_json_lines_of_docker() -> None:
    lines = [json.dumps({"log": f"{line}\n"}) for line in engine_logs.OLLAMA.splitlines()]
    wrapped = "\n".join(line.replace('{"log": ', '{"log":') for line in lines)
    assert amounts(parse_log(wrapped)) == amounts(parse_log(engine_logs.OLLAMA))


@each("log", engine_logs.ALL.values())
def test_readings_as_json(log: str) -> None:
    parsed = parse_log(log)
    data = json.loads(json.dumps(parsed.to_json()))
    assert [(r["name"], r["value"]) for r in data["measured"]] == [
        (reading.name, reading.value) for reading in parsed.measured
    ]


@each(
    "line, engine",
    [
        ("Model loading took 15.25 GiB and 6.1 seconds", "vllm"),
        ("GPU KV cache size: 371,376 tokens", "vllm"),
        ("# GPU blocks: 9000, # CPU blocks: 2048", "vllm"),
        ("KV Cache is allocated. #tokens: 800000, KV size: 27.50 GB", "sglang"),
        ("load_tensors:        CUDA0 model buffer size =  4455.50 MiB", "llama.cpp"),
        ('time=x level=INFO source=a.go:1 msg="kv cache" device=CUDA0 size="1.5 GiB"', "ollama"),
    ],
)
def test_a_log_of_one_line_is_parsed(line: str, engine: str) -> None:
    parsed = parse_log(line)
    assert parsed.engine == engine and parsed.measured


def test_a_log_without_known_lines_is_an_error() -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_log("GET / 200\nvLLM is nice\n")
    assert caught.value.fields["reason"] == "no_start_up_log"


def test_a_long_log_is_cut() -> None:
    parsed = parse_log(engine_logs.VLLM_V1 + "x\n" * (MAX_LINES + 1))
    assert parsed.cut and parsed.largest("weights_bytes") is not None
    assert not parse_log(engine_logs.VLLM_V1).cut
    assert read_text("x" * (MAX_CHARS + 1)).cut


def test_out_of_memory_is_an_outcome() -> None:
    failed = engine_logs.VLLM_V1 + (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total"
        " capacity of 79.25 GiB of which 1.00 GiB is free.\n"
    )
    assert facts(parse_log(failed), "outcome", "gpu_memory_bytes") == {
        "outcome": "out_of_memory",
        "gpu_memory_bytes": 79.25 * GIB,
    }


@each(
    "text, expected",
    [
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("gpt2", "gpt2"),
        ("org/name-GGUF:Q4_K_M", "org/name-GGUF:Q4_K_M"),
        ("/root/.cache/hub/models--org--na.me/snapshots/1f/x.gguf", "org/na.me"),
        ("/models/llama", None),
        ("./llama", None),
        ("C:\\models\\llama", None),
        ("a/b/c", None),
    ],
)
def test_hub_ids(text: str, expected: str | None) -> None:
    assert hub_id_of(text) == expected


@each(
    "text, expected",
    [
        ("hf_abcdefghijklmnopqrst", "[secret]"),
        ("api_key='sk-1234567890abcdef'", "[secret]'"),
        ("at 192.168.1.20:8000 now", "at [address] now"),
        ("ann@example.org", "[address]"),
        ("GPU-93e08bff-19ea-9448-3848", "[address]"),
        ("from /home/ann/x/m.gguf (", "from m.gguf ("),
        ("from C:\\Users\\Ann\\m.gguf", "from m.gguf"),
        ("a\u202eb`<script>", "a?b??script?"),
    ],
)
def test_personal_data_is_redacted(text: str, expected: str) -> None:
    assert clean(text) == expected
