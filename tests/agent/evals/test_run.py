import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.errors import ConfigurationError, DatasetInvalid
from datasphinx.agent.evals.datasets import Dataset, Question, read_questions
from datasphinx.agent.evals.report import Report
from datasphinx.agent.evals.run import ROW_LIMIT, STATEMENT_TIMEOUT_S, evaluate, replay, run
from datasphinx.agent.llm.scripted import Scripted, ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import Settings, SourceSettings, load_settings
from datasphinx.agent.types import Limits

pytestmark = pytest.mark.integration

WriteLines = Callable[..., Path]
FIGURES = ["execution_match_interval", "cost_usd", "per_question", "tables", "columns"]
TOTALS = ["n", "execution_match", "refused", "errors", "llm_calls", "asked_again", "tokens"]


@pytest.fixture
def replayed(write_lines: WriteLines, databases: Path, settings: Settings) -> Callable[..., Report]:
    """Replays (reference, recorded) statements about the products of the shop, or about another database."""

    def make(*pairs: tuple[str, str], db_id: str = "shop", **given: Any) -> Report:
        asked = [
            {"id": f"q{at}", "db_id": db_id, "question": "Which products or cities are there?", "sql": pair[0]}
            for at, pair in enumerate(pairs)
        ]
        questions = write_lines("q.jsonl", *asked)
        predictions = write_lines("p.jsonl", *[{"id": f"q{at}", "sql": pair[1]} for at, pair in enumerate(pairs)])
        options = {"limit": None, "settings": settings, "on_progress": lambda *_: None, **given}
        return replay(Dataset(read_questions(questions), databases), predictions, **options)

    return make


def evaluated(databases: Path, settings: Settings, asked: str, *answers: Scripted, sql: str = "SELECT 1") -> Report:
    """Evaluate one question about the shop with a model that gives `answers`."""
    services = Services(settings, model=ScriptedModel({"GeneratedSQL": answers}))
    files = {"shop": databases / "shop.sqlite"}
    return evaluate([Question("q", "shop", asked, sql)], files, lambda _: services, lambda *_: None)


def test_a_recorded_statement_with_the_same_rows_matches(replayed: Callable[..., Report]) -> None:
    report = replayed(("SELECT count(*) FROM product", "SELECT COUNT(id) FROM product;"))
    assert [outcome.match for outcome in report.outcomes] == [True]
    assert (report.n, report.execution_match, report.refused, report.errors) == (1, 1.0, 0, 0)
    assert report.llm_calls == 1
    assert report.tokens > 0


def test_the_share_counts_every_question(replayed: Callable[..., Report]) -> None:
    same, other = "SELECT name FROM product", "SELECT price FROM product"
    report = replayed((same, same), (same, other), (same, same), (same, "SELECT x FROM product"))
    assert [outcome.match for outcome in report.outcomes] == [True, False, True, False]
    assert report.execution_match == 0.5
    assert report.errors == 1


def test_the_order_counts_where_the_reference_asks_for_one(replayed: Callable[..., Report]) -> None:
    plain, sorted_up = "SELECT name FROM product", "SELECT name FROM product ORDER BY price"
    sorted_down = "SELECT name FROM product ORDER BY price DESC"
    report = replayed((plain, sorted_down), (sorted_up, sorted_down), (sorted_up, sorted_up))
    assert [outcome.match for outcome in report.outcomes] == [True, False, True]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("DELETE FROM product", "statement_refused"),
        ("SELECT * FROM sqlite_master", "system_catalog_refused"),
        ("SELECT 1; SELECT 2", "statement_refused"),
        ("SELECT name FROM", "statement_refused"),
    ],
)
def test_what_the_guard_refuses_is_counted_as_refused(replayed: Callable[..., Report], sql: str, code: str) -> None:
    report = replayed(("SELECT name FROM product", sql))
    (outcome,) = report.outcomes
    assert (report.refused, report.errors, report.matched) == (1, 0, 0)
    assert (outcome.error, outcome.sql) == (code, sql)
    assert outcome.reason


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT colour FROM product", "names_unknown"),
        ("SELECT abs(-9223372036854775808) FROM product", "sql_not_generated"),
        ("", "sql_not_generated"),
    ],
)
def test_what_fails_for_another_reason_is_an_error(replayed: Callable[..., Report], sql: str, code: str) -> None:
    report = replayed(("SELECT name FROM product", sql))
    assert (report.refused, report.errors) == (0, 1)
    assert report.outcomes[0].error == code


def test_the_recorded_statement_is_said_at_every_try_and_ends_the_question_as_it_repeats(
    replayed: Callable[..., Report],
) -> None:
    assert replayed(("SELECT name FROM product", "SELECT colour FROM product")).llm_calls == 2


def test_each_question_gets_its_own_statement(replayed: Callable[..., Report]) -> None:
    statements = [f"SELECT {number} FROM product" for number in range(5)]
    report = replayed(*[(sql, sql) for sql in statements])
    assert [outcome.sql for outcome in report.outcomes] == statements
    assert report.matched == 5


def test_a_reference_that_does_not_run_is_an_error_of_its_own(replayed: Callable[..., Report]) -> None:
    report = replayed(("SELECT colour FROM product", "SELECT name FROM product"), ("SELECT 1", "SELECT 1"))
    assert [outcome.error for outcome in report.outcomes] == ["reference_failed", None]
    assert report.errors == 1
    assert report.execution_match == 0.5


@pytest.mark.heavy
def test_long_results_are_compared_whole_and_not_narrated(replayed: Callable[..., Report]) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i FROM n"
    report = replayed((many.format(12_000), many.format(12_000)), (many.format(12_000), many.format(11_999)))
    assert [outcome.match for outcome in report.outcomes] == [True, False]


def test_no_limit_on_cost_ends_a_replayed_question(replayed: Callable[..., Report], cache_dir: Path) -> None:
    small = load_settings(cache_dir=cache_dir, schema_token_budget=100, max_llm_tokens=1, max_llm_calls=1)
    report = replayed(("SELECT name FROM product", "SELECT name FROM product"), ("SELECT 1", "DROP x"), settings=small)
    assert (report.matched, report.refused) == (1, 1)
    assert replayed(("SELECT 1", "SELECT 1"), db_id="wide", settings=small).matched == 1


def test_the_limit_takes_the_first_questions(replayed: Callable[..., Report]) -> None:
    report = replayed(*[("SELECT 1", "SELECT 1")] * 4, limit=3)
    assert [outcome.id for outcome in report.outcomes] == ["q0", "q1", "q2"]


def test_progress_is_told_before_the_first_question_and_after_each(replayed: Callable[..., Report]) -> None:
    seen: list[tuple[int, int, float]] = []
    pairs = [("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 2")]
    replayed(*pairs, on_progress=lambda report, total: seen.append((report.n, total, report.execution_match)))
    assert seen == [(0, 2, 0.0), (1, 2, 1.0), (2, 2, 0.5)]


def test_nothing_runs_where_the_files_do_not_fit(write_lines: WriteLines, databases: Path, settings: Settings) -> None:
    line = {"id": "q1", "db_id": "shop", "question": "q", "sql": "SELECT 1"}
    questions, predictions = write_lines("q.jsonl", line), write_lines("p.jsonl")
    with pytest.raises(DatasetInvalid, match="no statement for q1"):
        replay(
            Dataset(read_questions(questions), databases), predictions, None, settings, lambda *_: pytest.fail("it ran")
        )


def test_the_recording_is_checked_against_all_questions_also_with_a_limit(
    write_lines: WriteLines, databases: Path, settings: Settings
) -> None:
    line = {"db_id": "shop", "question": "Which products?", "sql": "SELECT 1"}
    questions = write_lines("q.jsonl", {"id": "a", **line}, {"id": "b", **line, "db_id": "not there"})
    predictions = write_lines("p.jsonl", *[{"id": name, "sql": "SELECT 1"} for name in "ab"])
    assert replay(Dataset(read_questions(questions), databases), predictions, 1, settings, lambda *_: None).matched == 1


def test_a_database_in_a_folder_of_its_own_is_asked(replayed: Callable[..., Report]) -> None:
    assert replayed(("SELECT name FROM city", "SELECT name FROM city"), db_id="city").matched == 1


def test_names_are_compared_with_those_of_the_reference(replayed: Callable[..., Report]) -> None:
    reference = "SELECT name FROM product WHERE price > 1"
    given = replayed((reference, "SELECT name, id FROM product"), (reference, "DROP TABLE product")).as_json()
    assert given["tables"] == {"precision": 1.0, "recall": 0.5}
    assert given["columns"] == {"precision": 0.5, "recall": 0.25}


def test_a_question_that_is_off_topic_is_an_error(databases: Path, settings: Settings) -> None:
    report = evaluated(databases, settings, "Which products?", *[{"sql": "", "off_topic": True}] * 3)
    assert [outcome.error for outcome in report.outcomes] == ["off_topic"]
    assert (report.errors, report.refused) == (1, 0)


def test_a_statement_that_was_corrected_in_time_is_neither_refused_nor_an_error(
    databases: Path, settings: Settings
) -> None:
    answers = [
        {"sql": "DROP TABLE product"},
        {"sql": "SELECT colour FROM product"},
        {"sql": "SELECT name FROM product"},
    ]
    report = evaluated(databases, settings, "Which products?", *answers, sql="SELECT name FROM product")
    assert (report.refused, report.errors, report.execution_match, report.llm_calls) == (0, 0, 1.0, 3)


def test_a_model_that_does_not_answer_ends_the_question_alone(databases: Path, settings: Settings) -> None:
    report = evaluated(databases, settings, "Which products?")
    assert [outcome.error for outcome in report.outcomes] == ["model_unreachable"]


@pytest.mark.parametrize(("content", "code"), [(b"", "source_empty"), (b"no database" * 100, "source_unreachable")])
def test_a_database_that_cannot_be_read_ends_the_question_alone(
    databases: Path, replayed: Callable[..., Report], content: bytes, code: str
) -> None:
    (databases / "bad.sqlite").write_bytes(content)
    report = replayed(("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 1"), db_id="bad")
    assert [outcome.error for outcome in report.outcomes] == [code, code]


def test_a_defect_ends_the_question_alone(
    replayed: Callable[..., Report], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> bool:
        raise ZeroDivisionError("broken")

    monkeypatch.setattr("datasphinx.agent.evals.match.is_ordered", broken)
    report = replayed(("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT x FROM product"))
    assert [outcome.error for outcome in report.outcomes] == ["internal_error", "names_unknown"]
    assert "ZeroDivisionError" in caplog.text


def test_statements_run_within_the_limits_of_an_evaluation(
    replayed: Callable[..., Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[float, int]] = []

    def opened(settings: SourceSettings, given: Limits, **rest: Any) -> Any:
        limits.append((given.timeout_s, given.row_limit))
        return real(settings, given, **rest)

    from datasphinx.agent.services import open_source as real

    monkeypatch.setattr("datasphinx.agent.services.open_source", opened)
    replayed(("SELECT 1", "SELECT 1"), ("SELECT 1", "SELECT 1"))
    assert limits == [(STATEMENT_TIMEOUT_S, ROW_LIMIT)] == [(120, 1_000_000)]


def test_run_asks_the_configured_model(
    write_lines: WriteLines, databases: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datasphinx.agent.llm.client import ModelClient

    model = ScriptedModel({"GeneratedSQL": [{"sql": "SELECT count(*) FROM product"}]})
    monkeypatch.setattr(
        "datasphinx.agent.connect.connect_model", lambda given, *_, **__: ModelClient(model, given, name="any")
    )
    line = {"id": "q", "db_id": "shop", "question": "How many products?", "sql": "SELECT 3"}
    report = run(Dataset(read_questions(write_lines("q.jsonl", line)), databases), settings, lambda *_: None)
    assert report.matched == 1
    assert [call.schema_name for call in model.calls] == ["GeneratedSQL"]


def test_run_without_a_model_fails_before_the_first_question(
    write_lines: WriteLines, databases: Path, cache_dir: Path
) -> None:
    nameless = load_settings(cache_dir=cache_dir, llm_base_url="http://127.0.0.1:9/v1")
    line = {"id": "q", "db_id": "shop", "question": "How many products?", "sql": "SELECT 3"}
    with pytest.raises(ConfigurationError):
        run(
            Dataset(read_questions(write_lines("q.jsonl", line)), databases), nameless, lambda *_: pytest.fail("it ran")
        )


def test_the_report_is_one_json_object(replayed: Callable[..., Report]) -> None:
    report = replayed(("SELECT 1", "SELECT 1"), ("SELECT 1", "DROP TABLE product"))
    given = json.loads(json.dumps(report.as_json()))
    assert list(given) == [*TOTALS, "seconds", "tokens_per_second", *FIGURES, "wrong", "unanswered"]
    assert (given["n"], given["execution_match"], given["refused"], given["errors"]) == (2, 0.5, 1, 0)
    assert [(entry["id"], entry["error"], entry["sql"]) for entry in given["unanswered"]] == [
        ("q1", "statement_refused", "DROP TABLE product")
    ]
