"""The benchmark of spreadsheet questions: grades, recorded steps, and prompts without a step."""

import json
from pathlib import Path

from benchmarks.analyst import grade, main
from benchmarks.common import read_lines

TOTAL = {"aggregations": [{"as": "total", "agg": "sum", "col": "amount"}]}


def test_grades() -> None:
    def output(rows: list[list[object]], answer: str = "", error: str | None = None) -> dict[str, object]:
        tables = [{"name": "r1", "columns": [], "rows": rows}]
        return {"answer": answer, "error": error and {"code": error}, "value": None, "tables": tables}

    rows = [["Rome", 10.0, "x"], ["Paris", 1 / 3, "y"]]
    cases = [
        ({"rows": [["paris", 0.333333], ["Rome", 10]]}, output(rows), "correct"),
        ({"rows": [["paris", 0.333333], ["Rome", 10]], "ordered": True}, output(rows), "wrong"),
        ({"rows": [["Rome", 10]]}, output(rows), "wrong"),
        ({"rows": [["Rome", 11], ["Paris", 0.33]]}, output(rows), "wrong"),
        ({"rows": [["Rome", 10]]}, output([], error="budget_exceeded"), "unanswered"),
        ({"text": ["1234", "Rome"]}, output([], "In Rome 1,234 were sold."), "correct"),
        ({"text": ["1235"]}, output([], "In Rome 1,234 were sold."), "wrong"),
        ({"error": "cannot_answer"}, output([], error="cannot_answer"), "correct"),
        ({"error": "cannot_answer"}, output(rows), "wrong"),
    ]
    assert [case for case in cases if grade(case[0], case[1]) != case[2]] == []


def test_recorded_steps_are_replayed_and_missing_ones_written(tmp_path: Path, capsys) -> None:
    (tmp_path / "sales.csv").write_text("city,amount\nRome,10\nParis,20\n")
    question = {"id": "a", "files": ["sales.csv"], "question": "What is the total?", "expected": {"rows": [[30]]}}
    questions, answers, pending = (tmp_path / name for name in ("questions.jsonl", "answers.jsonl", "pending.jsonl"))
    questions.write_text(json.dumps(question))

    main([str(questions), "--pending", str(pending)])
    (prompt,) = read_lines(pending)
    assert "What is the total?" in prompt["messages"][-1]["content"]
    assert "run_query" in {tool["function"]["name"] for tool in prompt["tools"]}

    dataset = json.loads(prompt["messages"][-1]["content"].split('"gave": ')[1].split("}</data>")[0])["dataset_id"]
    steps = [
        {"tool": "run_query", "arguments": {"dataset_id": dataset, "query": TOTAL}},
        {"tool": "finish", "arguments": {"answer": "The total is {total}."}},
    ]
    answers.write_text(json.dumps({"id": "a", "steps": steps}))
    main([str(questions), "--answers", str(answers)])
    assert capsys.readouterr().out.splitlines() == ['{"pending": 1}', '{"correct": 1}']
