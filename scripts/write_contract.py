"""Write the sections on requests and answers in `docs/contract.md` from their models, and the
keyword arguments of the library.

    python -m scripts.write_contract

The rest of the page is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import get_args

from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue

from gpusizer.api.base import AnswerModel
from gpusizer.api.schemas import MODELS, answer_schemas
from gpusizer.core.paths import DATA_DIR
from gpusizer.usecases.requests.request_docs import FieldDescription, described_groups
from gpusizer.usecases.use_cases import USE_CASES
from scripts.library_keywords import MODULE, module_text

PAGE = DATA_DIR.parent / "docs" / "contract.md"
_BY = "written by `python -m scripts.write_contract`"

_KINDS = {int: "integer", float: "number", bool: "boolean", str: "text", tuple: "list of texts"}


def updated(page: str) -> str:
    """Return the page with its sections on requests and answers replaced."""
    for name, text in (("requests", requests_text()), ("answers", answers_text())):
        begin, end = f"<!-- {name}: {_BY} -->", f"<!-- end of {name} -->"
        text_before, _, after_begin = page.partition(begin)
        _, _, text_after = after_begin.partition(end)
        page = f"{text_before}{begin}\n\n{text}\n{end}{text_after}"
    return page


def requests_text() -> str:
    """Write a section for each request; groups of fields listed before are only named."""
    sections: list[str] = []
    listed: dict[tuple[FieldDescription, ...], str] = {}
    for name, question in USE_CASES.items():
        sections.append(f"### `{name}`\n")
        shared: dict[str, list[str]] = {}
        for heading, fields in described_groups(question.request).items():
            if fields in listed:
                shared.setdefault(listed[fields], []).append(heading)
            else:
                listed[fields] = name
                sections.append(_table(heading, fields))
        for earlier, headings in shared.items():
            sections.append(f"As in `{earlier}`: {', '.join(headings)}.\n")
    return "\n".join(sections)


def _table(heading: str, fields: Iterable[FieldDescription]) -> str:
    lines = ("| field | type | default | bounds or choices | meaning |", "|---|---|---|---|---|")
    rows = (f"| {' | '.join(_cells(field))} |" for field in fields)
    return "\n".join((f"**{heading}**\n", *lines, *rows)) + "\n"


def _cells(field: FieldDescription) -> Iterator[str]:
    yield f"`{field.name}`"
    has_unit = field.kind in (int, float) and field.unit != "N"
    yield f"{_KINDS[field.kind]}, {field.unit}" if has_unit else _KINDS[field.kind]
    yield "required" if field.required else field.default_text
    yield field.choices_text or field.bounds_text
    yield field.meaning.replace("|", "\\|")


def answers_text() -> str:
    """Write a section for each object of an answer, each answer's own first."""
    schemas = answer_schemas("")
    written: dict[type, str] = {}
    for model in MODELS:
        for part in _with_parts(model):
            written.setdefault(part, _section(part, schemas))
    return "\n".join(written.values())


def _with_parts(model: type) -> Iterator[type]:
    """Yield a model or dataclass, and those of its fields."""
    yield model
    for field in _fields_of(model).values():
        for kind in _models_in(field.annotation):
            yield from _with_parts(kind)


def _fields_of(model: type) -> Mapping[str, FieldInfo]:
    return model.model_fields if issubclass(model, AnswerModel) else {}


def _models_in(annotation: object) -> Iterator[type]:
    if isinstance(annotation, type) and (
        issubclass(annotation, AnswerModel) or is_dataclass(annotation)
    ):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def _section(model: type, schemas: Mapping[str, JsonSchemaValue]) -> str:
    """Write a table of the fields that are described, and the names of the others."""
    schema = schemas[model.__name__]
    above = next((base for base in model.__mro__[1:] if base.__name__ in schemas), None)
    known = _fields_of(above) if above else {}
    own = {name: it for name, it in schema["properties"].items() if name not in known}
    meaning = " ".join((schema.get("description") or model.__doc__ or "").split())
    lines = [f"### {model.__name__}\n", meaning]
    if above is not None:
        lines.append(f"It has the fields of `{above.__name__}`, and these.")
    described = {name: it for name, it in own.items() if "description" in it}
    others = [f"`{name}` ({_type_text(it)})" for name, it in own.items() if name not in described]
    if others:
        lines.append(f"\n{', '.join(others)}.")
    if described:
        lines += ["\n| field | type | meaning |", "|---|---|---|"]
        for name, it in described.items():
            text = it["description"].replace("|", "\\|")
            lines.append(f"| `{name}` | {_type_text(it)} | {text} |")
    return "\n".join(lines) + "\n"


def _type_text(schema: JsonSchemaValue) -> str:
    """Write the type of a field, as `list of RankedGpu`, `text or null`."""
    if "$ref" in schema:
        return f"`{schema['$ref']}`"
    if "anyOf" in schema:
        return " or ".join(map(_type_text, schema["anyOf"]))
    if "allOf" in schema:
        return _type_text(schema["allOf"][0])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{word}`" for word in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_type_text(schema['items'])}"
    kind: str = {"string": "text", "object": "object"}.get(schema["type"], schema["type"])
    return kind


if __name__ == "__main__":
    PAGE.write_text(updated(PAGE.read_text("utf-8")), "utf-8")
    MODULE.write_text(module_text(), "utf-8")
