"""The confidence in the statements of chat models: what is claimed, and when nothing is."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.answers.confidence import confidence_of
from agent.conversation.reply import reply_of
from agent.generation.confidence import StandardConfidence
from agent.llm.schemas import GeneratedSQL
from agent.schema.catalog import Catalog
from agent.types import Evidence
from tests.agent.generation.test_effort import DELIVERED, SAME
from tests.agent.walk import COUNT, HOW_MANY
from tests.conftest import VALID, ScriptedAgent
from tests.databases import make_database, open_url, url
from tests.likely import likely

Scripted = Callable[..., ScriptedAgent]
OBJECTION = {"is_valid": False, "reason": "it counts the wrong rows", "issues": [], "corrected_sql": None}


def asked(scripted: Scripted, *statements: Any, verdicts: Any = (), **inputs: Any) -> dict[str, Any]:
    answers = {"GeneratedSQL": list(statements), "SQLValidation": list(verdicts)}
    return scripted(answers, enable_sql_validation=None, max_sql_generations=0).ask(HOW_MANY, **inputs)


def test_nothing_is_claimed_about_a_statement_that_nothing_is_known_about(scripted: Scripted) -> None:
    output = asked(scripted, COUNT)

    assert (output["confidence"], output["status"]) == (None, "ok")


def test_a_confirmed_statement_is_more_likely_right_than_one_with_an_objection(scripted: Scripted) -> None:
    confirmed = asked(scripted, COUNT, verdicts=[VALID], enable_sql_validation=True)
    objected = asked(scripted, COUNT, verdicts=[OBJECTION], enable_sql_validation=True)

    assert confirmed["confidence"]["value"] > 0.5 > objected["confidence"]["value"]
    assert (confirmed["status"], objected["status"]) == ("ok", "unsure")
    assert objected["confidence"]["reason"] == "the check of the query objected to it"
    assert objected["value"] == confirmed["value"], "a draft has its value"
    assert reply_of(objected, "one")["status"] == "unsure"


def test_three_statements_that_agree_raise_the_confidence(scripted: Scripted) -> None:
    agree = asked(scripted, COUNT, SAME, COUNT, effort="high")
    differ = asked(scripted, DELIVERED, COUNT, SAME, verdicts=[VALID], effort="high")

    assert agree["confidence"]["value"] > differ["confidence"]["value"]
    assert (
        "another query for the question, with “status = delivered”, returns other results"
        in differ["confidence"]["reason"]
    )


def test_the_probability_of_the_statement_counts_if_the_endpoint_returns_it(scripted: Scripted) -> None:
    text = GeneratedSQL(sql=COUNT["sql"]).model_dump_json()
    agent = scripted({"GeneratedSQL": [likely(text, 0.9), likely(text, 1e-5)]}, enable_sql_validation=False)
    agent.services.model.logprobs.is_enabled = True
    sure, unsure = agent.ask(HOW_MANY), agent.ask(HOW_MANY)

    assert sure["confidence"]["value"] > 0.7 > unsure["confidence"]["value"]
    assert unsure["confidence"]["reason"].startswith("the model might as well have written another query")
    assert sure["audit"]["steps"][-1]["calls"] == [] and sure["status"] == "ok"


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (Evidence(logprob=-1.0), Evidence(logprob=-5.0)),
        (Evidence(logprob=-1.0), Evidence(logprob=-1.0, findings=2)),
        (Evidence(is_confirmed=True), Evidence(is_confirmed=True, gives_rows=False)),
        (Evidence(agreement=1.0), Evidence(agreement=0.3333)),
    ],
)
def test_what_speaks_against_a_statement_lowers_the_confidence(better: Evidence, worse: Evidence) -> None:
    high, low = (StandardConfidence().estimate(evidence) for evidence in (better, worse))

    assert high is not None and low is not None
    assert 0 < low < high < 1


def test_a_word_that_a_comment_explains_is_named_in_the_reason(tmp_path: Path) -> None:
    path = make_database(tmp_path, "CREATE TABLE services (id INTEGER PRIMARY KEY, name TEXT, state TEXT)")
    catalog = open_url(url(path)).catalog
    table = catalog.tables["services"]
    columns = tuple(
        column._replace(comment="U = up, D = down") if column.name == "state" else column for column in table.columns
    )
    commented = Catalog("sqlite", {"services": replace(table, columns=columns)})
    result: Any = {"columns": ["n"], "types": ["integer"], "rows": [[3]], "truncated": False}
    estimate = StandardConfidence()
    evidence = Evidence(is_confirmed=True)
    ignored = confidence_of(
        "Which services are down?", "SELECT name FROM services", result, evidence, estimate, 0.5, commented
    )
    used = confidence_of(
        "Which services are down?",
        "SELECT name FROM services WHERE state = 'D'",
        result,
        evidence,
        estimate,
        0.5,
        commented,
    )

    assert ignored is not None and used is not None
    assert ignored["reason"] == "“down” is not a stored value; the comment on services.state says D = down"
    assert used["reason"] == "no problem was found in the query"


@pytest.mark.parametrize(
    ("evidence", "sql", "reason"),
    [
        (Evidence(logprob=-9.0), COUNT["sql"], "the model might as well have written another query"),
        (Evidence(logprob=-9.0, agreement=0.8), COUNT["sql"], "other queries for the question return other results"),
        (
            Evidence(logprob=-9.0, agreement=0.8, rival="SELECT COUNT(*) FROM orders WHERE status = 'shipped'"),
            COUNT["sql"],
            "another query for the question, with “status = shipped”, returns other results",
        ),
        (
            Evidence(logprob=-9.0, agreement=0.8, rival="SELECT COUNT(*) FROM orders FETCH FIRST 5 ROWS ONLY"),
            COUNT["sql"],
            "another query for the question, with “only the first 5”, returns other results",
        ),
        (
            Evidence(logprob=-9.0, agreement=0.8, rival=COUNT["sql"]),
            "SELECT COUNT(*) FROM orders WHERE status = 'shipped'",
            "other queries for the question return other results",
        ),
        (Evidence(logprob=-9.0, ignored=["2024"]), COUNT["sql"], "the query does not use “2024” of the question"),
        (
            Evidence(logprob=-9.0, findings=1),
            "SELECT COUNT(*) FROM orders WHERE status = 'delivred'",
            "a check of the query found: no row of orders has 'delivred' in status; nearest: 'delivered'",
        ),
        (
            Evidence(logprob=-9.0, findings=1),
            "SELECT COUNT(*) FROM orders, customers",
            "a check of the query found: no condition connects customers / orders: every row is paired with every row",
        ),
        (Evidence(logprob=-9.0, findings=1), COUNT["sql"], "automatic checks found likely mistakes in the query"),
    ],
)
def test_the_reason_names_what_the_evidence_shows(
    scripted: Scripted, evidence: Evidence, sql: str, reason: str
) -> None:
    source = scripted({}).services.source()
    result: Any = {"columns": ["n"], "types": ["integer"], "rows": [[3]], "truncated": False}
    confidence = confidence_of(
        HOW_MANY, sql, result, evidence, StandardConfidence(), 0.9, source.catalog, source.warnings_about
    )

    assert confidence is not None and confidence["reason"].startswith(reason)
    assert (";" in confidence["reason"][len(reason) :]) == reason.startswith("the model might")


def test_a_warning_is_in_the_language_of_the_question(scripted: Scripted) -> None:
    source = scripted({}).services.source()
    result: Any = {"columns": ["n"], "types": ["integer"], "rows": [[3]], "truncated": False}
    evidence, sql = Evidence(logprob=-9.0, findings=1), "SELECT COUNT(*) FROM orders, customers"
    reasons = []
    for question in ("Wie viele Bestellungen gibt es?", "Сколько всего заказов?", "一共有多少订单？"):
        confidence = confidence_of(
            question, sql, result, evidence, StandardConfidence(), 0.5, source.catalog, source.warnings_about
        )
        reasons.append(confidence["reason"] if confidence else "")

    assert [reason.split("customers / orders")[0] for reason in reasons] == [
        "eine Prüfung der Abfrage ergab: keine Bedingung verbindet ",
        "проверка запроса показала: таблицы не связаны условием (",
        "对查询的检查发现：没有条件连接 ",
    ]
