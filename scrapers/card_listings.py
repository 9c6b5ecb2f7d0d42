"""Rows of tables that list quantized files or branches. Pure."""

from __future__ import annotations

import re

from gpusizer.hub.card_statements import ListedQuantization, ModelCardStatement
from scrapers.card_quants import quant_in
from scrapers.card_rows import Row, plain_number, role_amount_gb, whole_number

_FILE = re.compile(r"[^ ]{1,180}\.(?:gguf|bin|safetensors)(?:\.part[^ ]{1,10})?", re.IGNORECASE)


def listed_quantization(row: Row, repo_name: str) -> ModelCardStatement | None:
    """A row of a table of quantized files or branches."""
    branch = row.cell("branch")
    file = _file_name(row)
    size_gb = role_amount_gb(row, "size")
    named = quant_in(row.cell("quant")) or quant_in(file or "")
    ram_gb, vram_gb = role_amount_gb(row, "host"), role_amount_gb(row, "memory")
    sizes = (size_gb, vram_gb, ram_gb)
    is_listed = branch or file or (named and size_gb is not None and any(row.block.links))
    if not is_listed or sizes == (None, None, None):
        return None
    bits = plain_number(row.cell("bits")) or plain_number(row.cell("quant"))
    return ModelCardStatement(
        *("sibling_table", row.block.line, row.block.last_line, row.block.text),
        is_requirement=ram_gb is not None or vram_gb is not None,
        vram_gb=vram_gb,
        quant=named or quant_in(repo_name),
        bits=bits if bits is not None and bits <= 32 else None,
        file=file,
        listed=ListedQuantization(
            branch=branch or None,
            group_size=whole_number(row.cell("group_size")),
            size_gb=size_gb,
            ram_gb=ram_gb,
        ),
    )


def _file_name(row: Row) -> str | None:
    """The file that a row links to or names."""
    names = [*row.block.links, *row.block.cells]
    return next((name for name in names if _FILE.fullmatch(name)), None)
