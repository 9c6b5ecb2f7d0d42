"""Write the keyword arguments of the library as TypedDicts, from the models of requests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpusizer.core.paths import DATA_DIR
from gpusizer.usecases.requests.request_docs import FieldDescription, described_groups
from gpusizer.usecases.use_cases import USE_CASES

MODULE = DATA_DIR.parent / "gpusizer" / "library" / "keywords.py"
_LINE = 100
_HEAD = '''"""Keyword arguments of the library: the fields of each request, by their groups.

Written by `python -m scripts.write_contract`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict
'''


@dataclass(frozen=True, slots=True)
class Signature:
    """A class of keyword arguments, and fields that a function names itself."""

    name: str
    named: tuple[str, ...]


SIGNATURES: Mapping[str, Signature] = {
    "size": Signature("SizeKeywords", ("model",)),
    "train": Signature("TrainKeywords", ("model",)),
    "compare": Signature("CompareKeywords", ("gpus", "model")),
    "models-for": Signature("ModelsKeywords", ("gpu",)),
    "gpus": Signature("GpusKeywords", ("query",)),
    "desk": Signature("DeskKeywords", ("models", "gpu")),
}
"""By the name of a use case."""
_TYPES = {int: "int", float: "float", bool: "bool", str: "str", tuple: "str | Sequence[str]"}
_Fields = tuple[FieldDescription, ...]


def module_text() -> str:
    """Write the module. A group of fields that several requests share is one class."""
    shared: dict[str, _Fields] = {}
    classes = [_HEAD]
    for question, signature in SIGNATURES.items():
        bases: list[str] = []
        own: list[FieldDescription] = []
        for heading, described in described_groups(USE_CASES[question].request).items():
            fields = tuple(field for field in described if field.name not in signature.named)
            if not fields:
                continue
            base = _class_name(heading)
            if base not in shared:
                shared[base] = fields
                classes.append(_class(base, ["TypedDict"], heading, fields))
            if shared[base] == fields:
                bases.append(base)
            else:
                own += fields
        about = f"keyword arguments of `{question}`"
        classes.append(_class(signature.name, bases or ["TypedDict"], about, own))
    return "\n\n".join(classes)


def _class_name(heading: str) -> str:
    """Return the name of a group's class.

    >>> _class_name("memory of the named GPUs")
    'MemoryOfTheNamedGpusGroup'
    """
    return "".join(word.capitalize() for word in re.findall(r"\w+", heading)) + "Group"


def _class(name: str, bases: Sequence[str], about: str, fields: Iterable[FieldDescription]) -> str:
    head = f"class {name}({', '.join((*bases, 'total=False'))}):"
    if len(head) > _LINE:
        parts = (f"    {part},\n" for part in (*bases, "total=False"))
        head = f"class {name}(\n{''.join(parts)}):"
    lines = [f"    {field.name}: {_TYPES[field.kind]} | None\n" for field in fields]
    meaning = f'    """{about[0].upper()}{about[1:]}."""\n'
    return "".join((head, "\n", meaning, "\n" if lines else "", *lines))
