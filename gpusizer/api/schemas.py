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

# the models of all answers, and of the error object
MODELS: tuple[type[AnswerModel], ...] = (*(form.model for form in ANSWERS.values()), ErrorAnswer)

Field = ModelField | DataclassField | TypedDictField


class AnswerSchema(GenerateJsonSchema):
    """Writes the schema of an answer's content: a field that may be left out has no default."""

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema of a field without its default."""
        return self.generate_inner(schema["schema"])

    def field_is_required(self, field: Field, total: bool) -> bool:
        """Return whether JSON always has a field; for a dataclass also those with defaults."""
        return field["type"] == "dataclass-field" or super().field_is_required(field, total)


def answer_schemas(references: str) -> dict[str, JsonSchemaValue]:
    """Return the schema of each object of an answer by name.

    `references` is put before a name that another object refers to.
    """
    _, described = models_json_schema(
        [(model, "serialization") for model in MODELS],
        ref_template=f"{references}{{model}}",
        schema_generator=AnswerSchema,
    )
    schemas: dict[str, JsonSchemaValue] = described["$defs"]
    return schemas
