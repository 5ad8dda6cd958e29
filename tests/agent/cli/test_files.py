"""`datasphinx ask` about files: steps, rows, charts, what was guessed, and exit codes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent import errors
from tests.agent.analysis.conftest import BY_ACCOUNT
from tests.agent.cli.steps import DONE, step
from tests.agent.datasets.documented import documented_examples
from tests.agent.datasets.workbooks import book
from tests.agent.tools.conftest import RETURNS
from tests.support.commands import Run
from tests.support.fake_openai import FakeOpenAI

QUESTION = "How many returns has each account?"
BARS = {"chart_type": "bar", "x": "账号", "y": "returns"}


@pytest.fixture
def returns(tmp_path: Path) -> str:
    """The path of a workbook with a title above its header."""
    lines = ([int(cell) if cell.isdigit() else cell for cell in line.split(",")] for line in RETURNS.splitlines())
    path = tmp_path / "returns.xlsx"
    path.write_bytes(book(退货=[["退货统计"], *lines]))
    return str(path)


def plotted() -> list[Any]:
    return [step("run_query", query=BY_ACCOUNT), step("plot", result_id="r1", plot=BARS), step("finish", **DONE)]


def test_an_answer_with_its_steps_rows_and_cost(model: FakeOpenAI, run: Run, returns: str) -> None:
    model.answers = [step("run_query", query=BY_ACCOUNT), step("finish", **DONE)]
    code, out, err = run("ask", QUESTION, returns)

    assert code == errors.ANSWERED
    lines = [line.split() for line in err.splitlines()]
    assert [(words[0], words[1]) for words in lines] == [
        ("✓", "create_dataset"), ("✓", "get_schema"), ("✓", "plan"), ("✓", "run_query"), ("✓", "plan"), ("✓", "narrate")
    ]  # fmt: skip
    assert "returns.xlsx, sheet 退货, header in row 2, 4 rows" in " ".join(err.split())
    assert "alpha (30) and beta (70)" in out
    assert "alpha" in out and "70" in out
    assert "2 model calls · 240 + 60 tokens · price unknown" in out


def test_what_was_guessed_of_a_file_is_said(model: FakeOpenAI, run: Run, tmp_path: Path) -> None:
    messy = tmp_path / "messy.csv"
    messy.write_text("city;city;amount\nKazan;a;1,5\nTver;b;2,25\n", encoding="utf-8")
    model.answers = [step("run_query", query={"group_by": ["city"]}), step("finish", answer="Two.")]
    _, out, _ = run("ask", "Which cities are there?", str(messy))
    notes = " ".join(out.split())
    assert "note: city_2: the column 'city' was renamed" in notes
    assert "note: amount: numbers stored as text" in notes or "decimal mark ','" in notes


@pytest.mark.heavy
def test_of_several_files_those_of_the_answer_have_notes(
    model: FakeOpenAI, run: Run, tmp_path: Path, returns: str
) -> None:
    messy = tmp_path / "messy.csv"
    messy.write_text("city,city\nKazan,a\n", encoding="utf-8")
    model.answers = [step("run_query", query=BY_ACCOUNT), step("finish", **DONE)]
    _, out, err = run("ask", QUESTION, returns, str(messy))
    assert err.count("create_dataset") == 2
    notes = " ".join(out.split())
    assert "note: returns.xlsx: rows above the header" in notes and "city_2" not in notes


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        pytest.param("chart.png", b"\x89PNG", marks=pytest.mark.heavy),
        pytest.param("chart.html", b"<!doctype html>", marks=pytest.mark.heavy),
        ("chart.JSON", b'{"title"'),
    ],
)
def test_a_chart_is_written_where_the_user_says(
    model: FakeOpenAI, run: Run, returns: str, tmp_path: Path, name: str, begins: bytes
) -> None:
    model.answers = plotted()
    code, out, err = run("ask", QUESTION, returns, "--chart", str(tmp_path / name))
    assert code == errors.ANSWERED
    assert (tmp_path / name).read_bytes().startswith(begins)
    assert err.splitlines()[-1] == f"chart: {tmp_path / name}"
    assert "chart:" not in out


@pytest.mark.heavy
def test_each_of_several_charts_has_a_file(model: FakeOpenAI, run: Run, returns: str, tmp_path: Path) -> None:
    pie = step("plot", result_id="r1", plot={**BARS, "chart_type": "pie"})
    first, second, end = plotted()
    model.answers = [first, second, pie, end]
    run("ask", QUESTION, returns, "--chart", "chart.json", "--json")
    kinds = [json.loads(Path(name).read_text("utf-8"))["series"][0]["type"] for name in ("chart.json", "chart-2.json")]
    assert kinds == ["bar", "pie"]


def test_a_chart_that_the_rows_do_not_allow_is_an_error(model: FakeOpenAI, run: Run) -> None:
    model.answers = [{"sql": "SELECT COUNT(*) AS orders FROM orders"}]
    code, out, err = run("ask", "How many orders are there?", "--chart", "chart.png")
    assert (code, "10,127" in out) == (errors.DOMAIN, True)
    assert err.splitlines()[-1] == "The rows allow no chart."
    assert not Path("chart.png").exists()


def test_a_chart_that_was_not_asked_for_is_drawn_of_the_rows(model: FakeOpenAI, run: Run, returns: str) -> None:
    model.answers = [step("run_query", query=BY_ACCOUNT), step("finish", **DONE)]
    code, _, _ = run("ask", QUESTION, returns, "--chart", "chart.json")
    assert code == errors.ANSWERED
    option = json.loads(Path("chart.json").read_text("utf-8"))
    assert option["series"][0]["type"] == "bar" and option["title"]["text"] == QUESTION


def test_a_question_back_has_its_own_exit_code(model: FakeOpenAI, run: Run, returns: str) -> None:
    asked = step("ask_user", question="Which month?", options=["January", "February"])
    model.answers = [asked]
    code, out, err = run("ask", QUESTION, returns)
    assert code == errors.NEEDS_CLARIFICATION
    assert "Which month?" in out and "1. January" in out
    assert re.search(r"Answer with: datasphinx ask --thread [0-9a-f]{32} --answer 1\n$", err)
    model.answers = [asked, step("run_query", query=BY_ACCOUNT), step("finish", **DONE)]
    assert run("ask", QUESTION, returns, "--clarify", "never")[0] == errors.ANSWERED


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04 broken", "cannot be read"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "returns.xlsx"),
        (b"", "returns.xlsx"),
    ],
)
def test_a_bad_file_is_a_usage_error(model: FakeOpenAI, run: Run, tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "returns.xlsx"
    path.write_bytes(content)
    code, out, err = run("ask", QUESTION, str(path))
    assert code == errors.USAGE
    assert says in " ".join(out.split())
    assert "✗ create_dataset" in err
    assert model.requests == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--source", "sample"), "sample and"),
        (("--source", "postgresql://me:long-password@db/x"), "cannot be asked in one question"),
        (("--effort", "high"), "--effort"),
        (("--chart", "chart.svg"), ".png, .html, .json"),
        (("--chart", "no/chart.png"), "there is no folder"),
        (("no_such_file.csv",), "does not exist"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(
    model: FakeOpenAI, run: Run, returns: str, options: tuple[str, ...], says: str
) -> None:
    code, out, err = run("ask", QUESTION, returns, *options)
    assert (code, out) == (errors.USAGE, "")
    assert says in " ".join(err.replace("│", "").split())
    assert "long-password" not in err
    assert model.requests == []


def test_a_chart_that_cannot_be_written_leaves_the_answer(model: FakeOpenAI, run: Run, returns: str) -> None:
    Path("chart.png").mkdir()
    model.answers = plotted()
    code, _, err = run("ask", QUESTION, returns, "--chart", "chart.png")
    assert (code, "chart.png" in err) == (errors.USAGE, True)


def test_nothing_in_a_file_moves_the_cursor(model: FakeOpenAI, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a\x1b[2Jb.csv"
    path.write_text("ci\x1b[2Jty,ci\x1b[2Jty\nKa\x1b[2Jzan,x\n", encoding="utf-8")
    model.answers = [step("run_query", query={"group_by": ["ci\x1b[2Jty"]}), step("finish", answer="Ka\x1b[2Jzan")]
    _, out, err = run("ask", "Which cities?", str(path))
    assert "\x1b[2J" not in out + err


def loading(**options: object) -> list[str]:
    given = {name: value if isinstance(value, str) else json.dumps(value) for name, value in options.items()}
    return [argument for name, value in given.items() for argument in ("--load", f"{name}={value}")]


def test_files_are_read_with_the_options(model: FakeOpenAI, run: Run, tmp_path: Path) -> None:
    months = book(Jan=[["a", "n"], ["x", 1]], Feb=[["a", "n"], ["y", 2], ["Total", 2]])
    (tmp_path / "months.xlsx").write_bytes(months)
    counted = {"group_by": ["a", "n", "sheet"], "aggregations": [{"as": "rows", "agg": "count", "col": "*"}]}
    model.answers = [step("run_query", query=counted), step("finish", answer="Done.")]
    options = loading(sheets=["Jan", "Feb"], drop_totals=False, types={"n": "text"}, fill_down=["a"])
    _, out, _ = run("ask", "List the rows.", str(tmp_path / "months.xlsx"), *options, "--json")
    rows = json.loads(out)["value"]["rows"]
    assert sorted(rows) == [["Total", "2", "Feb", 1], ["x", "1", "Jan", 1], ["y", "2", "Feb", 1]]


@pytest.mark.heavy
def test_every_documented_option_is_one_of_the_command(model: FakeOpenAI, run: Run, tmp_path: Path) -> None:
    for example in documented_examples():
        path = tmp_path / example.name
        path.write_bytes(example.content)
        _, out, _ = run("ask", "Describe the data.", str(path), *loading(**example.options), "--json")
        steps = json.loads(out)["audit"]["steps"]
        (arguments,) = [step["arguments"] for step in steps if step.get("tool") == "create_dataset"]
        arguments.pop("file_id")
        assert arguments == example.options


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["sheet"], "OPTION=VALUE"),
        (["sheat=Jan"], "sheat"),
        (['types={"n": "colour"}'], "types.n"),
        (["tables=[1]", "header_row=2"], "exclude each other"),
    ],
)
def test_options_that_cannot_be_meant_are_usage_errors(
    run: Run, returns: str, options: list[str], problem: str
) -> None:
    code, _, err = run("ask", QUESTION, returns, *(argument for text in options for argument in ("--load", text)))
    assert code == errors.USAGE
    assert problem in " ".join(err.split())


def test_options_for_files_need_files(run: Run) -> None:
    assert run("ask", QUESTION, "--load", "sheet=a")[0] == errors.USAGE
