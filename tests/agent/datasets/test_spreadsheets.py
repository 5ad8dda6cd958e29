"""Each messy spreadsheet gives the expected dataset."""

import pytest

from tests.agent.datasets.messy import MESSY
from tests.agent.datasets.workbooks import workbook
from tests.support.heavy import sample


@pytest.mark.parametrize("name", list(MESSY)[:: sample(1, 3)])
def test_spreadsheet_gives_its_dataset(name, load) -> None:
    case = MESSY[name]
    loaded = load("book.xlsx", workbook(case.build), **case.given)

    assert loaded.schema == case.schema
    assert loaded.rows == case.rows
    assert loaded.warnings == case.warnings
    assert loaded.dataset.row_count == len(case.rows)
    assert loaded.dataset.source_type == "excel"
    assert {name: getattr(loaded.dataset.report, name) for name in case.report} == case.report
