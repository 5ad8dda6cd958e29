import pytest

from datasphinx.agent.evals.report import Outcome, Overlap, Report, bootstrap_interval, progress_bar


def test_a_report_without_outcomes_has_a_share() -> None:
    assert Report().as_json() == {
        "execution_match_interval": [0.0, 0.0], "cost_usd": 0,
        "per_question": {"llm_calls_median": 0.0, "llm_calls": 0.0, "tokens": 0.0, "cost_usd": 0.0},
        "tables": {"precision": None, "recall": None}, "columns": {"precision": None, "recall": None},
        "n": 0, "execution_match": 0.0, "refused": 0, "errors": 0, "llm_calls": 0, "asked_again": 0, "tokens": 0,
        "seconds": {"median": 0.0, "p95": 0.0}, "tokens_per_second": 0.0, "wrong": [], "unanswered": [],
    }  # fmt: skip


def test_totals_are_those_of_the_outcomes() -> None:
    report = Report(
        [
            Outcome("a", match=True, sql="SELECT 1", llm_calls=1, tokens=100),
            Outcome("b", sql="SELECT 2", llm_calls=2, tokens=250),
            Outcome("c", error="statement_refused", reason="no", sql="DROP TABLE t", llm_calls=3, tokens=300),
            Outcome("d", error="off_topic", reason="no"),
        ]
    )
    given = report.as_json()
    assert (given["n"], given["execution_match"], given["refused"], given["errors"]) == (4, 0.25, 1, 1)
    assert (given["llm_calls"], given["tokens"]) == (6, 650)
    assert [entry["id"] for entry in given["unanswered"]] == ["c", "d"]


def test_costs_are_those_of_a_question_on_average_and_unknown_as_soon_as_one_is() -> None:
    known = [Outcome("a", llm_calls=1, tokens=100, cost_usd=0.01), Outcome("b", llm_calls=4, tokens=301, cost_usd=0.02)]
    priced, unpriced = Report(known).as_json(), Report([*known, Outcome("c", cost_usd=None)]).as_json()

    assert priced["per_question"] == {"llm_calls_median": 2.5, "llm_calls": 2.5, "tokens": 200.5, "cost_usd": 0.015}
    assert priced["cost_usd"] == 0.03
    assert (unpriced["cost_usd"], unpriced["per_question"]["cost_usd"]) == (None, None)


def test_precision_and_recall_are_those_of_all_names_together() -> None:
    few, many = Overlap(both=1, named=1, expected=1), Overlap(both=1, named=3, expected=2)
    report = Report([Outcome("a", tables=few, columns=many), Outcome("b", tables=many, columns=Overlap(expected=2))])

    assert report.as_json()["tables"] == {"precision": 0.5, "recall": 0.6667}
    assert report.as_json()["columns"] == {"precision": 0.3333, "recall": 0.25}


def test_the_interval_lies_around_the_share_and_is_the_same_every_time() -> None:
    report = Report([Outcome(str(at), match=at < 60) for at in range(100)])
    low, high = report.as_json()["execution_match_interval"]

    # The normal approximation: 0.6 less and plus 1.96 times the root of 0.6 * 0.4 / 100.
    assert low == pytest.approx(0.504, abs=0.015)
    assert high == pytest.approx(0.696, abs=0.015)
    assert report.interval == Report(report.outcomes).interval


@pytest.mark.parametrize(("matched", "share"), [(0, 0.0), (7, 1.0)])
def test_the_interval_has_no_width_where_all_questions_end_alike(matched: int, share: float) -> None:
    assert bootstrap_interval(matched, 7) == (share, share)


def test_more_questions_make_the_interval_narrower() -> None:
    widths = [high - low for low, high in (bootstrap_interval(half, 2 * half) for half in (10, 100, 1000))]
    assert widths == sorted(widths, reverse=True)


def test_speed_is_that_of_all_questions() -> None:
    outcomes = [Outcome(str(at), seconds=float(at), written_tokens=30, writing_s=0.5) for at in range(20, 0, -1)]
    report = Report([*outcomes, Outcome("nothing written", seconds=100.0)])

    assert report.seconds == {"median": 11.0, "p95": 20.0}
    assert report.tokens_per_second == 60.0


def test_the_bar_shows_the_running_figure_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as show:
        show(Report(), 2)
        show(Report([Outcome("a", match=True)]), 2)
        show(Report([Outcome("a", match=True), Outcome("b", error="off_topic")]), 2)
    format_clarification = capsys.readouterr()
    assert format_clarification.out == ""
    assert "2/2" in format_clarification.err
    assert "50.00%" in format_clarification.err


def test_no_bar_appears_where_nothing_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="broken"), progress_bar():
        raise ValueError("broken")
    assert "execution match" not in capsys.readouterr().err
