"""Families: which repositories are one model at one size.

Two repositories are of one family and size where four facts agree:

1. their stem, which is the name without its owner and without the words that say how it was
   tuned (base, instruct, …), when (2507), or how it was packed (FP8, AWQ, …). A repository that its
   card calls a quantization takes the name of the model that it was made of;
2. number of layers and width, where both are known;
3. parameters within 5 %, of a quantized copy within 25 %, because some packers store the tied
   matrix of a small model a second time (Qwen2-1.5B-Instruct-AWQ: 15 % more);
4. the type of their configuration, except of quantized copies, which may be written for another
   class (unsloth/phi-4-bnb-4bit is a Llama).

What somebody tuned and gave a name of its own is a family of its own, whatever it was made of.

A series is what one maker released together in several sizes, "qwen3" or "llama-3.1": the stem
without its words of size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from gpusizer.model.profile import ModelProfile

Item = TypeVar("Item")
Kind = Literal["instruct", "plain", "thinking", "base", "quantized"]
KINDS: tuple[Kind, ...] = ("instruct", "plain", "thinking", "base", "quantized")
"""What a member is by its name, those that most people run first: tuned to follow instructions,
nothing said, tuned to think first, pretrained only, a copy in another quantization."""

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
# Words that stand beside those above, and are no quantization by themselves.
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
    """What a repository's name says.

    Attributes:
        stem: the family and size, such as "qwen3-30b-a3b".
        kind: how it was tuned, or that it is a quantized copy.
        tuning: how it was tuned, of a quantized copy as well.
    """

    stem: str
    kind: Kind
    tuning: Kind

    @property
    def series(self) -> str:
        """What sizes of one release share; "" for a name that says no size.

        >>> read_name("Qwen/Qwen3-30B-A3B-FP8").series, read_name("microsoft/phi-4").series
        ('qwen3', '')
        """
        words = self.stem.split("-")
        plain = [word for word in words if not _SIZE.fullmatch(word)]
        return "-".join(plain) if len(plain) < len(words) else ""


def read_name(repo_id: str) -> Name:
    """Read the name of a repository.

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
    """A name without its owner and the words that say how it was packed: a quantized copy has that
    of its original.

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
    """The words of a name without its owner, in lower case."""
    name = repo_id.rpartition("/")[2][:_MAX_NAME_CHARS].casefold()
    name = re.sub(r"(?<=\d)_(?=\d)", ".", name)  # InternVL2_5, Qwen-1_8B
    return [word for word in re.split(r"[-_ ]+", name) if word]


def name_of(profile: ModelProfile) -> Name:
    """What the name of a model says; of a quantized copy that of the model it was made of."""
    if profile.base_relation == "quantized" and profile.base_models:
        return replace(read_name(profile.base_models[0]), kind="quantized")
    return read_name(profile.repo_id)


@dataclass(frozen=True, slots=True)
class Member:
    """The facts of one repository that its family follows from.

    Attributes:
        shape: number of layers, and width where it is known; None without an architecture.
        model_type: of its configuration; None without one.
    """

    repo_id: str
    stem: str
    kind: Kind
    parameters: int
    shape: tuple[int, int | None] | None
    model_type: str | None

    @classmethod
    def from_profile(cls, profile: ModelProfile) -> Member:
        """The facts of a profile."""
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
        """Whether this is of the family and size of another member with the same stem."""
        if None not in (self.shape, head.shape) and self.shape != head.shape:
            return False
        copied = "quantized" in (self.kind, head.kind)
        if not copied and self.model_type != head.model_type:
            return False
        difference = abs(self.parameters - head.parameters)
        return difference <= (_SAME_COPY if copied else _SAME_SIZE) * head.parameters


def fold(items: Iterable[Item], member_of: Callable[[Item], Member]) -> list[list[Item]]:
    """Group items into families, in whatever order they come; the head of each stands first."""
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
