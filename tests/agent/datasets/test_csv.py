"""CSV: encodings, delimiters, titles and irregular rows; any plain table is loaded unchanged."""

import csv
import io
import tempfile
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from datasphinx.agent.datasets.registry import Registry
from datasphinx.agent.sql.rows import json_safe
from tests.agent.datasets.conftest import rows_of
from tests.support.heavy import sample

RUSSIAN = "Город;Выручка\nМосква;1 234,5\nКазань;10,25\n"
CHINESE = "账号,月份,退货数量\nA001,一月,3\nA002,二月,5\n"


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        (RUSSIAN, "utf-8", "utf-8"),
        (RUSSIAN, "utf-8-sig", "utf-8-sig"),
        (RUSSIAN, "utf-16", "utf-16"),
        (RUSSIAN, "utf-16-le", "utf-16-le"),
        (RUSSIAN, "cp1251", "cp1251"),
        (CHINESE, "utf-8", "utf-8"),
        (CHINESE, "utf-16-be", "utf-16"),
        (CHINESE, "gb18030", "gb18030"),
    ],
)
def test_encoding_is_found(text, encoding, found, load) -> None:
    bom = b"\xfe\xff" if encoding == "utf-16-be" else b""
    loaded = load("a.csv", bom + text.encode(encoding))

    assert loaded.dataset.report.encoding == found
    if text == RUSSIAN:
        assert loaded.schema == {"Город": "VARCHAR", "Выручка": "DOUBLE"}
        assert loaded.rows == [["Москва", 1234.5], ["Казань", 10.25]]
    else:
        assert loaded.schema == {"账号": "VARCHAR", "月份": "ENUM('一月', '二月')", "退货数量": "BIGINT"}
        assert loaded.rows == [["A001", "一月", 3], ["A002", "二月", 5]]


@pytest.mark.heavy
def test_letters_that_come_late_decide_too(load) -> None:
    filler = "plain,1\n" * 20_000
    loaded = load("a.csv", f"name,n\n{filler}Москва,2\nКазань,3\n".encode("cp1251"))

    assert loaded.dataset.row_count == 20_002
    assert loaded.dataset.report.encoding == "cp1251"


@pytest.mark.parametrize(
    ("name", "content", "delimiter", "rows"),
    [
        ("a.csv", "x,y\n1,2\n3,4\n", ",", [[1, 2], [3, 4]]),
        ("a.csv", "x;y\n1;2\n3;4\n", ";", [[1, 2], [3, 4]]),
        ("a.tsv", "x\ty\n1\t2\n3\t4\n", "\t", [[1, 2], [3, 4]]),
        ("a.txt", "x|y\n1|2\n3|4\n", "|", [[1, 2], [3, 4]]),
        ("a.csv", "n\n1\n2\n", ",", [[1], [2]]),
        # Equal rows are no header.
        ("a.csv", "name,open,paid\nAnn,false,false\nAnn,false,false\n", ",", [["Ann", False, False]] * 2),
    ],
)
def test_delimiter_is_found(name, content, delimiter, rows, load) -> None:
    loaded = load(name, content.encode())

    assert loaded.rows == rows
    assert loaded.dataset.report.delimiter == delimiter


def test_semicolons_between_decimal_commas(load) -> None:
    loaded = load("a.csv", b"x;y\n1,5;2,5\n3,5;4,25\n")

    assert loaded.rows == [[1.5, 2.5], [3.5, 4.25]]
    assert loaded.dataset.report.decimal_mark == ","


def test_titles_blank_lines_and_quoted_lines(load) -> None:
    loaded = load("a.csv", b'Report\r\n\r\na,"b\r\nc",d\r\n1,"x\ny",2\r\n\r\n,,\r\n3,"say ""hi"", ok",4\r\n')

    assert loaded.schema == {"a": "BIGINT", "b c": "VARCHAR", "d": "BIGINT"}
    assert loaded.rows == [[1, "x\ny", 2], [3, 'say "hi", ok', 4]]
    assert loaded.dataset.report.header_row == 3


def test_short_rows_are_filled_and_long_rows_are_told(load) -> None:
    content = "a,b,c\n1,2\n" + "3,4,5\n" * 300 + "6,7,8,9\n"
    loaded = load("a.csv", content.encode())

    assert loaded.rows[0] == [1, 2, None]
    assert loaded.rows[-1] == [6, 7, 8]
    assert ("long_rows", "") in loaded.warnings


def test_a_file_mark_decides_what_a_column_cannot(load) -> None:
    """`1.234` is a thousand where another column has decimal commas, and a little more than one where it has not."""
    german = load("a.csv", b"x;y\n1.234;0,5\n2.345;1,25\n")
    english = load("b.csv", b"x,y\n1.234,0.5\n2.345,1.25\n")

    assert german.rows == [[1234, 0.5], [2345, 1.25]]
    assert english.rows == [[1.234, 0.5], [2.345, 1.25]]
    assert ("marks_ambiguous", "x") in german.warnings & english.warnings


@pytest.mark.heavy
def test_one_late_cell_decides_between_day_and_month(load) -> None:
    lines = "\n".join(["01/02/2024"] * 30_000)
    loaded = load("a.csv", f"when\n{lines}\n12/31/2024\n".encode())

    assert loaded.warnings == {("date_style", "when")}
    assert loaded.rows[0] == ["2024-01-02"]


def test_progress_is_told_and_ends(registry) -> None:
    report_progress = []
    file_id = registry.add_stream(io.BytesIO(b"a,b\n1,2\n"), "a.csv")
    registry.create(file_id, progress=lambda stage, share: report_progress.append((stage, share)))

    assert all(0 <= share <= 1 for _, share in report_progress)
    assert {("read", 1.0), ("examine", 1.0), ("write", 1.0)} <= set(report_progress)


@pytest.mark.heavy
def test_memory_is_bounded(tmp_path) -> None:
    """More than the memory that is allowed goes through."""
    from datasphinx.agent.datasets.limits import LoadLimits

    registry = Registry(tmp_path / "small", LoadLimits(memory_mb=128))
    line = f"{'x' * 400},{'y' * 400},5\n"
    dataset = registry.create(registry.add_stream(io.BytesIO(b"a,b,c\n" + line.encode() * 200_000), "a.csv"))

    assert dataset.row_count == 200_000
    assert dict(dataset.schema)["c"] == "BIGINT"


NAMES = st.text("abcdefgXYZäжщ中文", min_size=1, max_size=8)
# Lines of a cell that look like rows are read as rows: a quotation mark may have lost its partner.
WORDS = (
    st.text("abcdeFGH ,;|\t\"'\nжщ中", min_size=0, max_size=12)
    .map(lambda text: f"w{text}w")
    .filter(lambda text: not ("," in text and "\n" in text))
)
KINDS = {
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "DOUBLE": st.floats(-1e300, 1e300, allow_nan=False).map(lambda number: number + 0.5),
    "VARCHAR": WORDS,
    "DATE": st.dates(date(1000, 1, 1)),
    "BOOLEAN": st.booleans(),
}


@st.composite
def tables(draw):
    # A table of texts alone does not show which of its rows are the header.
    kinds = ["VARCHAR", "BIGINT", *draw(st.lists(st.sampled_from(sorted(KINDS)), max_size=3))]
    names = draw(st.lists(NAMES, min_size=len(kinds), max_size=len(kinds), unique_by=str.casefold))
    rows = draw(st.lists(st.tuples(*(KINDS[kind] for kind in kinds)), min_size=1, max_size=8))
    return kinds, names, rows


def written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.heavy
@settings(max_examples=sample(25, 4), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(tables())
@example(
    (["VARCHAR", "BIGINT", "BIGINT"], ["X", "XXX", "XX"], [("w", 20125975, 0), ("u", 2013, 0), ("v", 20125970, 0)])
)
def test_any_plain_table_comes_back(table) -> None:
    kinds, names, rows = table
    text = io.StringIO()
    csv.writer(text).writerows([names, *([written(value) for value in row] for row in rows)])
    with tempfile.TemporaryDirectory() as folder:
        registry = Registry(Path(folder))
        dataset = registry.create(registry.add_stream(io.BytesIO(text.getvalue().encode()), "t.csv"))
        found = rows_of(registry, dataset)

    assert [column.name for column in dataset.schema] == names
    for place, kind in enumerate(kinds):
        column, expected = [row[place] for row in found], [row[place] for row in rows]
        if kind == "DOUBLE":
            column = [float(value) for value in column]
        elif kind in ("DATE", "BIGINT"):
            expected = [json_safe(value) for value in expected]
        assert column == expected
