"""How long a GGUF header is, before any of it is read: by whose tokenizer it holds. Pure.

The API's description has a `gguf` object with the architecture, and where they are set the
chat template and the first token. That is enough to tell the usual vocabularies.
"""

from __future__ import annotations

from typing import Any

# Beginning of the architecture's name, a text that the template or the first token holds,
# tokens, and header bytes for each (see `gguf_header`). A wrong guess costs a read.
_VOCABULARIES = (
    ("llama", "<|start_header_id|>", 128_256, 62),  # Llama 3
    ("llama", "<|begin_of_text|>", 128_256, 62),
    ("qwen2", "", 151_936, 40),
    ("qwen3", "", 151_936, 40),
    ("gemma", "", 262_144, 24),
)


def header_guess(said: Any) -> int | None:
    """Bytes of the header of a file that the API describes like this; None for no idea."""
    if not isinstance(said, dict) or not isinstance(said.get("architecture"), str):
        return None
    texts = [said.get(key) for key in ("chat_template", "bos_token")]
    marks = "\n".join(text for text in texts if isinstance(text, str))
    for architecture, mark, tokens, per_token in _VOCABULARIES:
        if said["architecture"].startswith(architecture) and mark in marks:
            return tokens * per_token
    return None
