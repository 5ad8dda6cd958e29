"""Messy files give the table that a careful analyst reads, with and without options."""

import pytest

from tests.agent.datasets.files import AUTOMATIC, WITH_OPTIONS, Case

pytestmark = pytest.mark.heavy


def problems(case: Case, load) -> list[str]:
    loaded = load(case.name, case.content, **case.options)
    found = []
    if list(loaded.schema) != case.columns:
        found.append(f"columns {list(loaded.schema)}")
    if loaded.rows != case.rows:
        found.append(f"rows {loaded.rows}")
    if loaded.dataset.row_count != len(loaded.rows):
        found.append(f"row count {loaded.dataset.row_count}")
    if missing := case.codes - {warning.code for warning in loaded.dataset.report.warnings}:
        found.append(f"no warning {missing}")
    if case.check and not case.check(loaded):
        found.append("another report")
    return found


@pytest.mark.parametrize("cases", [AUTOMATIC, WITH_OPTIONS], ids=["automatic", "options"])
def test_files_give_the_table_that_is_meant(cases, load) -> None:
    failures = {name: found for name, case in cases.items() if (found := problems(case, load))}

    assert not failures
