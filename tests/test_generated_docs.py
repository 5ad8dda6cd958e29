"""Documentation that is made from the code says what the code says."""

import pytest

from tests.generated_docs import FILES, PARTS, with_part


@pytest.mark.parametrize("name", PARTS)
def test_the_written_part_is_what_the_code_gives(name: str) -> None:
    path, make = PARTS[name]
    written = path.read_text(encoding="utf-8")
    assert written == with_part(written, name, make()), f"run `make docs`: {path.name} is out of date"


@pytest.mark.parametrize("name", FILES)
def test_the_written_file_is_what_the_code_gives(name: str) -> None:
    path, make = FILES[name]
    assert path.read_text(encoding="utf-8") == make(), f"run `make docs`: {path.name} is out of date"
