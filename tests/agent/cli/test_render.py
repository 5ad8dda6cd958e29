"""Terminal output: progress bars and answers."""

import io
from typing import Any, cast

import pytest
from rich.console import Console

from datasphinx.agent.cli import render
from datasphinx.agent.cli.render import LoadingBar, StepView
from datasphinx.agent.record.step import new_audit
from datasphinx.agent.state import Output


def shown(monkeypatch: pytest.MonkeyPatch, *, terminal: bool, slow: bool) -> str:
    monkeypatch.setattr(render, "_SLOW_LOAD_S", -1.0 if slow else 1e9)
    console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
    with LoadingBar(console) as bar:
        for stage in ("schema", "read", "examine", "write"):
            for share in (0.0, 0.5, 1.0):
                bar(stage, share)
        bar("read", 0.25)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_a_long_load_shows_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, terminal=True, slow=True)
    assert (
        "reading the schema" in text and "reading the file" in text and "writing the dataset" in text and "25%" in text
    )
    assert text.endswith("\x1b[2K")  # the line is gone in the end


@pytest.mark.parametrize(("terminal", "slow"), [(True, False), (False, True), (False, False)])
def test_a_short_load_and_a_pipe_show_nothing(monkeypatch: pytest.MonkeyPatch, terminal: bool, slow: bool) -> None:
    assert shown(monkeypatch, terminal=terminal, slow=slow) == ""


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_steps_are_one_line_that_disappears_on_a_terminal_and_lines_elsewhere(is_terminal: bool) -> None:
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=100)
    step = {"node": "answer", "latency_ms": 1500, "calls": [], "statements": []}
    with StepView(console, is_transient=is_terminal) as view:
        for node in ("generate_sql", "execute_sql"):
            view.show_start({"node": node, "attempt": 2, "limit": 3})
            view.show({node: {"audit": {"steps": [step]}}})
    text = console.file.getvalue()  # type: ignore[attr-defined]
    if is_terminal:
        assert "execute sql, attempt 2 of 3" in text and "✓" not in text
        assert text.count("\n") == 1 and text.endswith("\x1b[1A\x1b[2K")  # the one line is gone in the end
    else:
        assert text.splitlines() == ["✓ generate_sql 1.5 s", "✓ execute_sql 1.5 s"]


def answer(columns: list[str], *rows: list[Any]) -> Output:
    table = {"name": "result", "columns": columns, "rows": list(rows)}
    return cast(
        Output,
        {
            "answer": "Two regions.", "output_type": "dataframe", "value": table, "sql": "SELECT 1", "tables": [table],
            "charts": [], "definitions": [], "error": None, "audit": new_audit("0123456789"),
        },
    )  # fmt: skip


def printed(output: Output, *, width: int = 100, terminal: bool = True, details: bool = False) -> str:
    console = Console(file=io.StringIO(), force_terminal=terminal, color_system=None, width=width)
    render.show(output, console, details=details)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_statement_and_cost_are_details() -> None:
    output = answer(["region"], ["North"], ["South"])

    assert "SELECT 1" not in printed(output) and "tokens" not in printed(output)
    text = printed(output, details=True)
    assert text.index("Two regions.") < text.index("North") < text.index("SELECT 1") < text.index("tokens")


def test_columns_have_the_titles_of_markdown_and_the_filters_are_one_line() -> None:
    output = answer(["patient_id", "доля_отменённых"], [1, 2], [3, 4])
    output["filters"] = ["2025", "status = \x1bdone"]
    wide, narrow = printed(output), printed(output, width=12)

    assert "Patient id" in wide and "Доля отменённых" in wide and "patient_id" not in wide
    assert "Patient id: 1" in " ".join(narrow.split()) and "Доля отменённых: 2" in " ".join(narrow.split())
    (line,) = [line for line in wide.splitlines() if "2025" in line]
    assert line.startswith("filters: 2025; status = ") and "\x1b" not in line
    assert "filters" not in printed(answer(["region"], ["North"], ["South"]))


def test_the_statement_of_an_unsure_answer_is_shown() -> None:
    output = answer(["region"], ["North"])

    assert "SELECT 1" not in printed(cast(Output, {**output, "status": "ok"}))
    assert "SELECT 1" in printed(cast(Output, {**output, "status": "unsure"}))


def test_notes_are_details_unless_they_are_about_files() -> None:
    output = answer(["region"], ["North"])
    output["answer"] = "Two regions.\n\nNot sure: no table has dates."
    output["audit"]["notes"] = ["not sure: no table has dates.", "one row was cut"]

    assert "one row was cut" not in printed(output)
    text = printed(output, details=True)
    assert text.casefold().count("no table has dates") == 1 and "note: one row was cut" in text
    output["audit"]["steps"] = [
        {"node": "run_tool", "tool": "create_dataset", "latency_ms": 1, "calls": [], "statements": []}
    ]
    assert "note: one row was cut" in printed(output)


def test_an_error_before_a_question_back_has_its_details_in_the_details() -> None:
    option = {"label": "by orders", "reading": "", "preview": None}
    asked = {"question": "What makes it the best?", "about": "Which is the best?", "options": [option]}
    error = {"code": "sql_not_generated", "message": "Could not generate an SQL query"}
    failed: dict[str, Any] = {**answer(["n"]), "answer": f"{error['message']}: no such column", "error": error}
    output = cast(Output, {**failed, "clarification": asked, "tables": [], "sql": None})

    text = printed(output)
    assert error["message"] in text and "1. by orders" in text and "no such column" not in text
    assert "no such column" in printed(output, details=True)


WIDE = answer([f"longname{number}" for number in range(8)], [*range(8)], [*range(8)])


@pytest.mark.parametrize("terminal", [True, False])
def test_wide_tables_become_records_where_words_would_be_broken(terminal: bool) -> None:
    lines = printed(WIDE, width=60, terminal=terminal).splitlines()

    assert "─ 2" in lines and lines.count("Longname3: 3") == 2
    assert max(map(len, lines)) <= 60


def test_a_wide_terminal_has_a_table() -> None:
    assert "Longname3: 3" not in printed(WIDE, width=200)


def test_one_measure_has_bars() -> None:
    lines = printed(answer(["region", "sales"], ["North", 200.5], ["South", 100.25], ["West", None])).splitlines()

    assert [line.count("█") for line in lines if "th" in line or "West" in line] == [40, 20, 0]
    for rows in ([["North", -1.5], ["South", 2.5]], [["North", 1.5]], [["North", 0.0], ["South", 0.0]]):
        assert "█" not in printed(answer(["region", "sales"], *rows))
    assert "█" not in printed(answer(["region", "sales", "cost"], ["North", 1.5, 2.5], ["South", 1.5, 2.5]))


def test_one_more_row_is_singular() -> None:
    assert "and 1 more row\n" in printed(answer(["n"], *([number] for number in range(21))))
