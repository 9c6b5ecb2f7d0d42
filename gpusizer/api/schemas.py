"""The JSON Schema of answers."""

from __future__ import annotations

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core.core_schema import (
    DataclassField,
    ModelField,
    TypedDictField,
    WithDefaultSchema,
)

from gpusizer.api.answers import ANSWERS
from gpusizer.api.base import AnswerModel
from gpusizer.api.errors import ErrorAnswer

MODELS: tuple[type[AnswerModel], ...] = (*(form.model for form in ANSWERS.values()), ErrorAnswer)
"""The models of all answers, and of the error object."""

Field = ModelField | DataclassField | TypedDictField


class AnswerSchema(GenerateJsonSchema):
    """Writes the schema of what an answer holds: a field that may be left out has no default."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema of a field without its default."""
        return self.generate_inner(schema["schema"])

    def field_is_required(self, field: Field, total: bool) -> bool:
        """Return whether JSON always has a field, as of a dataclass even those with defaults."""
        return field["type"] == "dataclass-field" or super().field_is_required(field, total)


def answer_schemas(references: str) -> dict[str, JsonSchemaValue]:
    """Return the schema of every object of an answer by its name; `references` stands before the
    name where one is named in another."""
    _, described = models_json_schema(
        [(model, "serialization") for model in MODELS],
        ref_template=f"{references}{{model}}",
        schema_generator=AnswerSchema,
    )
    schemas: dict[str, JsonSchemaValue] = described["$defs"]
    return schemas
