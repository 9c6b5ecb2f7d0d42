"""What people type -> a key that does not depend on spelling.

>>> name_key("NVIDIA GeForce RTX 4090"), name_key("rtx4090 24G"), name_key("A100-SXM4-80GB")
(NameKey(core='4090', memory_gb=None), NameKey(core='4090', memory_gb=24), \
NameKey(core='a100sxm4', memory_gb=80))
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

# Words that never tell two products of the table apart. "tesla" and "quadro" are here, so
# "RTX 4000" is the Quadro of that name; "pro", "ada", "laptop" and "super" are not.
_NOISE = re.compile(
    r"\b(?:nvidia|geforce|quadro|tesla|amd|radeon|instinct|intel|apple|huawei|ascend|atlas"
    r"|cambricon|moore|threads|hygon|dcu|metax|google|aws|jetson"
    r"|macbook(?: pro| air)?|mac (?:studio|mini|pro)|imac"
    r"|gpu|generation|edition|graphics|card|modified|mod)\b"
)
_TRANSLATIONS = {
    "英伟达": " ",
    "苹果": " ",
    "华为": " ",
    "昇腾": " ",
    "升腾": " ",
    "寒武纪": " ",
    "摩尔线程": " ",
    "海光": " ",
    "沐曦": " ",
    "英特尔": " ",
    "显卡": " ",
    "笔记本": " laptop ",
    "专业版": " pro ",
    "mobile": " laptop ",
    "notebook": " laptop ",
}
_PARENTHESIS = re.compile(r"\([^)]*\)")
_MEMORY = re.compile(r"(?<![a-z\d.])(\d{1,4}) ?(?:gb|gib|g)(?![a-z\d])")
_TRAILING_MEMORY = re.compile(r"(?<=\S) (\d{1,3})$")
_SERIES = re.compile(r"^(?:rtx|gtx|rx|arc)(?=[a-z]?\d)")


class NameKey(NamedTuple):
    """`core` identifies the product; `memory_gb` the size on the label, where one was given."""

    core: str
    memory_gb: int | None


def name_key(text: str) -> NameKey:
    """The key of a name, slug or alias. An unrecognisable text gives an empty core."""
    words = _words(text)
    sizes = _MEMORY.findall(words)
    return NameKey(_core(_MEMORY.sub(" ", words)), int(sizes[-1]) if sizes else None)


def candidate_keys(text: str) -> tuple[NameKey, ...]:
    """Readings of a typed name, best first: "m3 max 128" may end in a size without its unit."""
    key = name_key(text)
    trailing = _TRAILING_MEMORY.search(_words(text))
    if key.memory_gb is not None or trailing is None:
        return (key,)
    core = _core(_words(text)[: trailing.start()])
    return (key, NameKey(core, int(trailing[1]))) if core else (key,)


def _words(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold()
    for word, replacement in _TRANSLATIONS.items():
        text = text.replace(word, replacement)
    text = _PARENTHESIS.sub(" ", text)
    return " ".join(re.sub(r"[^\w.]|_", " ", text).split())


def _core(words: str) -> str:
    return _SERIES.sub("", "".join(_NOISE.sub(" ", words).split()))
