"""Families: the repositories of one model at one size.

Two repositories are of one family and size if four facts agree:

1. their stem, which is the name without its owner and without the words for its tuning (base,
instruct, …), its date (2507) or its packing (FP8, AWQ, …). A repository that its card calls a
quantization takes the name of its original;
2. number of layers and width, if both are known;
3. parameters within 5 %, of a quantized copy within 25 %, because some packers store the tied
matrix of a small model a second time (Qwen2-1.5B-Instruct-AWQ: 15 % more);
4. the type of their configuration, except for quantized copies, which may be written for another
class (unsloth/phi-4-bnb-4bit is a Llama).

A tuned model with a name of its own is a family of its own, whatever its original.

A series is one maker's release in several sizes, "qwen3" or "llama-3.1": the stem without its words
of size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from gpusizer.model.profile import ModelProfile

Item = TypeVar("Item")
Kind = Literal["instruct", "plain", "thinking", "base", "quantized"]

# Kinds of members by name, the most used first: tuned to follow instructions, nothing stated, tuned
# to think first, pretrained only, a copy in another quantization.
KINDS: tuple[Kind, ...] = ("instruct", "plain", "thinking", "base", "quantized")

_TUNINGS: dict[str, Kind] = {
    **dict.fromkeys(("instruct", "it", "chat", "sft", "dpo", "rl"), "instruct"),
    **dict.fromkeys(("thinking", "reasoning"), "thinking"),
    **dict.fromkeys(("base", "pt"), "base"),
}
_PACKED = re.compile(
    r"""(?: fp8 | fp4 | nvfp4 | mxfp[48] | awq | gptq | gguf | mlx | exl[23] | bnb | hqq | aqlm
        | bitsandbytes | autoround | marlin | int[248] | [2-8]bit | w[48]a(?: 4 | 8 | 16 )
        | quantized(?: \. w[48]a(?: 4 | 8 | 16 ) )? | i?q[1-8](?: \. \w+ )? | g128 | dwq
    )""",
    re.VERBOSE,
)
# Words next to those above that name no quantization by themselves.
_FILLERS = frozenset({"dynamic", "unsloth", "hf", "transformers", "block", "bf16", "fp16"})
_PREFIXES = frozenset({"meta"})
# A month, a month and day (2507, 0414), a length in thousands of tokens, a release before 1.0.
_STAMP = re.compile(r"\d{4} | \d{1,4}k | v0\.\d{1,2}", re.VERBOSE)
# Billions or millions of parameters, of experts too: 30b, a3b, e4b, 8x22b, 135m, 128e.
_SIZE = re.compile(r"(?: \d+x )? [ae]? \d+ (?: \.\d+ )? [bm] | \d+e", re.VERBOSE)
_MAX_NAME_CHARS = 200

_SAME_SIZE = 0.05
_SAME_COPY = 0.25


@dataclass(frozen=True, slots=True)
class Name:
    """Facts in a repository's name."""

    stem: str  # family and size, such as "qwen3-30b-a3b"
    kind: Kind  # tuning, or "quantized" for a copy
    tuning: Kind  # tuning, also of a quantized copy

    @property
    def series(self) -> str:
        """Part of the name that all sizes of one release share; "" if the name states no size.

        >>> read_name("Qwen/Qwen3-30B-A3B-FP8").series, read_name("microsoft/phi-4").series
        ('qwen3', '')
        """
        words = self.stem.split("-")
        plain = [word for word in words if not _SIZE.fullmatch(word)]
        return "-".join(plain) if len(plain) < len(words) else ""


def read_name(repo_id: str) -> Name:
    """Return the facts in the name of a repository.

    >>> read_name("RedHatAI/Meta-Llama-3.1-8B-Instruct-quantized.w4a16")
    Name(stem='llama-3.1-8b', kind='quantized', tuning='instruct')
    >>> read_name("Qwen/Qwen3-30B-A3B-Thinking-2507")
    Name(stem='qwen3-30b-a3b', kind='thinking', tuning='thinking')
    """
    words = _words_of(repo_id)
    plain: list[str] = []
    kinds: set[Kind] = set()
    for place, word in enumerate(words):
        if _PACKED.fullmatch(word):
            kinds.add("quantized")
        elif place and word in _TUNINGS:
            kinds.add(_TUNINGS[word])
        elif (place or word not in _PREFIXES) and not (
            place and (word in _FILLERS or _STAMP.fullmatch(word))
        ):
            plain.append(word)
    order: tuple[Kind, ...] = ("thinking", "base", "instruct")
    tuning: Kind = next((kind for kind in order if kind in kinds), "plain")
    kind: Kind = "quantized" if "quantized" in kinds else tuning
    return Name("-".join(plain) or "-".join(words), kind, tuning)


def unpacked_name(repo_id: str) -> str:
    """Return a name without its owner and the words for its packing.

    A quantized copy has the same name as its original.

    >>> unpacked_name("unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit")
    'llama-3.1-8b-instruct'
    """
    words = _words_of(repo_id)
    return "-".join(
        word
        for place, word in enumerate(words)
        if not (_PACKED.fullmatch(word) or (place and word in _FILLERS))
        and (place or word not in _PREFIXES)
    )


def _words_of(repo_id: str) -> list[str]:
    # Without the owner, in lower case.
    name = repo_id.rpartition("/")[2][:_MAX_NAME_CHARS].casefold()
    name = re.sub(r"(?<=\d)_(?=\d)", ".", name)  # InternVL2_5, Qwen-1_8B
    return [word for word in re.split(r"[-_ ]+", name) if word]


def name_of(profile: ModelProfile) -> Name:
    """Return the facts in the name of a model; for a quantized copy those of its original."""
    if profile.base_relation == "quantized" and profile.base_models:
        return replace(read_name(profile.base_models[0]), kind="quantized")
    return read_name(profile.repo_id)


@dataclass(frozen=True, slots=True)
class Member:
    """Facts of one repository that decide its family."""

    repo_id: str
    stem: str
    kind: Kind
    parameters: int
    # number of layers, and width if known; None without an architecture
    shape: tuple[int, int | None] | None
    model_type: str | None  # of its configuration, or None

    @classmethod
    def from_profile(cls, profile: ModelProfile) -> Member:
        """Return the facts of a profile."""
        name = name_of(profile)
        stem, kind = name.stem, name.kind
        arch = profile.architecture
        if kind == "base" and arch is not None and not arch.generates:
            kind = "plain"  # "base" is a size of encoders: bert-base, ModernBERT-base
        shape = None if arch is None else (arch.layers, arch.hidden_size)
        model_type = None if arch is None else arch.model_type
        return cls(profile.repo_id, stem, kind, profile.parameters, shape, model_type)

    @property
    def place(self) -> tuple[bool, int, int, str, str]:
        """Sort key: originals, then the kinds in their order, then a fixed order."""
        return (
            self.kind == "quantized",
            KINDS.index(self.kind),
            -self.parameters,
            self.repo_id.casefold(),
            self.repo_id,
        )

    def folds_under(self, head: Member) -> bool:
        """Return whether this has the family and size of a member with the same stem."""
        if None not in (self.shape, head.shape) and self.shape != head.shape:
            return False
        copied = "quantized" in (self.kind, head.kind)
        if not copied and self.model_type != head.model_type:
            return False
        difference = abs(self.parameters - head.parameters)
        return difference <= (_SAME_COPY if copied else _SAME_SIZE) * head.parameters


def fold(items: Iterable[Item], member_of: Callable[[Item], Member]) -> list[list[Item]]:
    """Return items grouped into families, in any order; the head of each comes first."""
    families: dict[str, list[list[Item]]] = {}
    for item in sorted(items, key=lambda item: member_of(item).place):
        member = member_of(item)
        of_stem = families.setdefault(member.stem, [])
        family = next((f for f in of_stem if member.folds_under(member_of(f[0]))), None)
        if family is None:
            of_stem.append([item])
        else:
            family.append(item)
    return [family for of_stem in families.values() for family in of_stem]
