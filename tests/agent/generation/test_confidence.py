"""The confidence in statements: a probability where one was fitted, and otherwise what happened to the statement."""

from functools import partial
from typing import Any

import pytest

from datasphinx.agent.answers.confidence import confidence_of, trust_in_words
from datasphinx.agent.conversation.reply import reply_of
from datasphinx.agent.embedded.calibration import Calibration
from datasphinx.agent.messages import Message
from datasphinx.agent.sources.source import Source
from datasphinx.agent.types import Evidence
from tests.agent.walk import COUNT, DELIVERED, HOW_MANY, SAME
from tests.conftest import VALID, MakeAgent

OBJECTION = {"is_valid": False, "reason": "it counts the wrong rows", "issues": [], "corrected_sql": None}


def asked(scripted: MakeAgent, *statements: Any, verdicts: Any = (), **inputs: Any) -> dict[str, Any]:
    answers = {"GeneratedSQL": list(statements), "SQLValidation": list(verdicts)}
    return scripted(answers, enable_sql_validation=None, max_sql_generations=0).ask(HOW_MANY, **inputs)


@pytest.mark.parametrize("is_valid", [None, True, False])
def test_an_answer_of_a_chat_model_says_what_happened(scripted: MakeAgent, is_valid: bool | None) -> None:
    verdicts = [] if is_valid is None else [VALID if is_valid else OBJECTION]
    output = asked(scripted, COUNT, verdicts=verdicts, enable_sql_validation=None if is_valid is None else True)

    assert (output["confidence"], output["checked"]) == (None, bool(is_valid))
    assert output["status"] == ("unsure" if is_valid is False else "ok")
    assert ("it counts the wrong rows" in output["answer"]) is (is_valid is False), "a draft says what is wrong with it"
    trust = {None: "Not checked", True: "Checked by the model", False: "Not sure"}
    assert trust_in_words(output, "en") == trust[is_valid]
    assert reply_of(output, "one")["status"] == output["status"]


def test_a_confirmed_verdict_settles_the_findings_that_it_was_shown(scripted: MakeAgent) -> None:
    cut = {"sql": "SELECT COUNT(*) / COUNT(DISTINCT status) AS per_status FROM orders"}
    unchecked = asked(scripted, cut, effort="low")
    confirmed = asked(scripted, cut, verdicts=[VALID])

    assert unchecked["status"] == "unsure" and "Please note" in unchecked["answer"]
    assert confirmed["status"] == "ok" and "Please note" not in confirmed["answer"]
    assert confirmed["value"] == unchecked["value"]
    assert any("confirmed the statement, although" in one for one in confirmed["audit"]["notes"])


def test_statements_that_agree_give_a_probability(scripted: MakeAgent) -> None:
    agree = asked(scripted, COUNT, SAME, COUNT, effort="high")
    differ = asked(scripted, DELIVERED, COUNT, SAME, verdicts=[ConnectionError("gone")], effort="high")
    confirmed = asked(scripted, DELIVERED, COUNT, SAME, verdicts=[VALID], effort="high")

    assert trust_in_words(agree, "en") == "Likely right"
    assert agree["confidence"]["value"] == 0.8 > differ["confidence"]["value"] == 0.6
    assert (
        "another query for the question, with “status = delivered”, returns other results"
        in differ["confidence"]["reason"]
    )
    assert confirmed["confidence"] is None


RESULT: Any = {"columns": ["n"], "types": ["integer"], "rows": [[3]], "truncated": False}
LOW = Evidence(logprob=-9.0)
CALIBRATION = Calibration(0.0, {"uncertainty": -1.0}, 0.9)


def reason_of(
    source: Source, evidence: Evidence, sql: str = COUNT["sql"], language: str = "en", doubts: Any = tuple
) -> str:
    warnings = partial(source.warnings_about, sql)
    given = (sql, RESULT, evidence, CALIBRATION, 0.9, language, source.catalog)
    confidence = confidence_of(*given, doubts, warnings)

    assert confidence is not None
    return confidence["reason"]


@pytest.mark.parametrize(
    ("evidence", "sql", "reason"),
    [
        ({}, COUNT["sql"], "the model might as well have written another query"),
        ({"agreement": 0.8}, COUNT["sql"], "other queries for the question return other results"),
        (
            {"agreement": 0.8, "rivals": ["SELECT COUNT(*) FROM orders WHERE status = 'shipped'"]},
            COUNT["sql"],
            "another query for the question, with “status = shipped”, returns other results",
        ),
        (
            {"agreement": 0.8, "rivals": ["SELECT COUNT(*) FROM orders FETCH FIRST 5 ROWS ONLY"]},
            COUNT["sql"],
            "another query for the question, with “only the first 5”, returns other results",
        ),
        (
            {"agreement": 0.8, "rivals": [COUNT["sql"]]},
            "SELECT COUNT(*) FROM orders WHERE status = 'shipped'",
            "other queries for the question return other results",
        ),
        (
            {"findings": 1},
            "SELECT COUNT(*) FROM orders WHERE status = 'delivred'",
            "a check of the query found: no row of orders has 'delivred' in status; nearest: 'delivered'",
        ),
        (
            {"findings": 1},
            "SELECT COUNT(*) FROM orders, customers",
            "a check of the query found: no condition connects customers / orders: every row is paired with every row",
        ),
        ({"violations": 1}, COUNT["sql"], "the query seems to leave out a part of the question"),
    ],
)
def test_the_reason_names_what_the_evidence_shows(scripted: MakeAgent, evidence: Any, sql: str, reason: str) -> None:
    assert reason_of(scripted({}).services.source(), {**LOW, **evidence}, sql).startswith(reason)


def test_a_doubt_is_a_reason_and_warnings_are_in_the_language_of_the_answer(scripted: MakeAgent) -> None:
    source, sql = scripted({}).services.source(), "SELECT COUNT(*) FROM orders, customers"
    doubt = partial(tuple, [Message("question_part_ignored", part="2024")])

    assert reason_of(source, LOW, doubts=doubt) == "the query does not use “2024” of the question"
    reasons = [reason_of(source, {**LOW, "findings": 1}, sql, language) for language in ("de", "ru", "zh")]
    assert [reason.split("customers / orders")[0] for reason in reasons] == [
        "eine Prüfung der Abfrage ergab: keine Bedingung verbindet ",
        "проверка запроса показала: таблицы не связаны условием (",
        "对查询的检查发现：没有条件连接 ",
    ]
