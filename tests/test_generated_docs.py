"""The generated parts of the documentation match the code."""

import pytest

from tests.support.generated_docs import FILES, PARTS, with_part


@pytest.mark.parametrize("name", PARTS)
def test_generated_part_is_up_to_date(name: str) -> None:
    path, make = PARTS[name]
    written = path.read_text(encoding="utf-8")
    assert written == with_part(written, name, make()), f"run `make docs`: {path.name} is out of date"


@pytest.mark.parametrize("name", FILES)
def test_generated_file_is_up_to_date(name: str) -> None:
    path, make = FILES[name]
    assert path.read_text(encoding="utf-8") == make(), f"run `make docs`: {path.name} is out of date"
