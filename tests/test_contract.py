"""docs/contract.md: its requests are those of the models, its names those of the program."""

from __future__ import annotations

import re

from gpusizer.answers.request_docs import described_fields
from gpusizer.answers.use_cases import USE_CASES
from gpusizer.core import errors
from gpusizer.ui.endpoints import PUBLIC
from gpusizer.ui.http_status import STATUSES
from scripts.write_contract import PAGE, updated
from tests.each import each

TEXT = PAGE.read_text("utf-8")


def test_the_page_is_current() -> None:
    """`python -m scripts.write_contract` would change nothing."""
    assert updated(TEXT) == TEXT


@each("name", USE_CASES)
def test_every_field_has_a_meaning_and_a_row(name: str) -> None:
    for field in described_fields(USE_CASES[name].request).values():
        assert field.meaning and not field.meaning.endswith("."), field.name
        assert f"| `{field.name}` |" in TEXT
        if field.kind in (int, float):
            assert field.bounds_text, f"{field.name} of {name} has no bounds"


def test_every_error_code_is_there() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    codes = {kind.code for kind in classes if issubclass(kind, errors.GpusizerError)}
    named_codes = set(re.findall(r"`(\w+)`", TEXT.partition("Codes:")[2].partition("##")[0]))
    assert named_codes == codes


def test_every_status_is_there() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (.+) \|$", TEXT, re.M)
    statuses = {code: int(status) for status, codes in rows for code in re.findall(r"\w+", codes)}
    assert statuses == {code: int(status) for code, status in STATUSES.items()}


def test_every_endpoint_is_there() -> None:
    assert {endpoint.name for endpoint in PUBLIC} <= set(re.findall(r"`/(\w+)`", TEXT))
    assert {endpoint.command for endpoint in PUBLIC} <= set(re.findall(r"/v1/([\w-]+)`", TEXT))
