"""`datasphinx knowledge review`, and the proposals that accepted answers become."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.graph import build_graph
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from tests.agent.walk import no_call
from tests.support.commands import Run

SQL = "SELECT COUNT(*) AS n FROM customers WHERE country = 'Spain'"
METRICS = """\
# The figures of the shop.
metrics:
  gross sales: {expression: SUM(orders.total_amount), synonyms: sales}
  net sales: {expression: SUM(order_items.line_total), synonyms: sales}
"""
Converse = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def folder(tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The knowledge folder of the source `shop`."""
    monkeypatch.setenv("DATASPHINX_CACHE_DIR", str(cache_dir))
    monkeypatch.setenv("LOGNAME", "ann")
    path = tmp_path / "knowledge" / "shop"
    path.mkdir(parents=True)
    (path / "metrics.yml").write_text(METRICS)
    (tmp_path / "datasphinx.toml").write_text(
        f'[sources.shop]\nurl = "{shop_url(cache_dir)}"\nknowledge = "knowledge/shop/"\n'
    )
    return path


@pytest.fixture
def converse(folder: Path) -> Converse:
    """Run inputs on one thread; the model writes `sql`."""

    def run_inputs(*inputs: dict[str, Any], sql: str = SQL, **settings: Any) -> list[dict[str, Any]]:
        from langgraph.checkpoint.memory import InMemorySaver

        model = ScriptedModel({"GeneratedSQL": [{"sql": sql}]}, repeat_last=True)
        services = Services(load_settings(enable_sql_validation=False, **settings), model=model)
        graph = build_graph(services, InMemorySaver())
        config: Any = {"configurable": {"thread_id": "1", "ends_with_question": True}}
        outputs = [graph.invoke(each, config) for each in inputs]
        for output in outputs:
            services.recorder.flush(output["audit"]["trace_id"])
        return outputs

    return run_inputs


ACCEPTED = {"feedback": {"accepted": True}}
QUESTION = {"question": "How many customers live in Spain?"}


def proposals(run: Run) -> list[dict[str, Any]]:
    """The open proposals."""
    listed: list[dict[str, Any]] = json.loads(run("knowledge", "review", "list", "--json")[1])["proposals"]
    return listed


def test_accepted_answer_becomes_a_verified_query(run: Run, folder: Path, converse: Converse) -> None:
    answered, accepted, again = converse(QUESTION, ACCEPTED, ACCEPTED)
    assert accepted["answer"] == again["answer"] == "Noted: the answer is right. It is proposed for review."

    (listed,) = proposals(run)
    proposal_id = listed["id"]
    assert listed == {
        "id": proposal_id, "source": "shop", "question": QUESTION["question"], "sql": SQL, "choice": None,
        "clarifications": [], "proposed_by": "ann", "proposed_at": listed["proposed_at"],
        "trace_id": answered["audit"]["trace_id"], "status": "open", "reviewed_by": "", "place": "",
        "origin": "accepted_answer",
    }  # fmt: skip
    assert run("knowledge", "review", "list")[1].split("  ")[0] == proposal_id
    shown = run("knowledge", "review", "show", proposal_id)[1]
    assert "question: How many customers live in Spain?\n" in shown and SQL in shown

    code, out, _ = run("knowledge", "review", "accept", proposal_id, "--note", "checked")
    text = (folder / "verified.yml").read_text()
    assert (code, out) == (0, "accepted: knowledge/shop/verified.yml:2\n")
    assert re.fullmatch(
        r"verified:\n  - question: How many customers live in Spain\?\n    sql: SELECT COUNT\(\*\) AS n FROM customers"
        r" WHERE country = 'Spain'\n    author: ann\n    date: \d{4}-\d\d-\d\d\n    note: checked\n",
        text,
    )
    assert run("knowledge", "check")[0] == 0
    assert run("knowledge", "review", "list")[1] == "There is no proposal with the status open.\n"
    assert run("knowledge", "review", "accept", proposal_id)[0] == 3
    assert run("knowledge", "review", "reject", proposal_id)[0] == 3
    (verified,) = converse({"question": "how many customers live in Spain"}, QUESTION, sql=no_call)[1:]  # type: ignore[arg-type]
    assert verified["verified"]["place"] == "knowledge/shop/verified.yml:2"
    # On the command line too, where no model is installed.
    code, out, _ = run("ask", QUESTION["question"], "--source", "shop")
    assert code == 0 and re.search(r"Verified by ann on \d{4}-\d\d-\d\d\.", out)
    code, out, _ = run("ask", QUESTION["question"], "--source", "shop", "--json")
    assert (code, json.loads(out)["verified"]["author"]) == (0, "ann")


def test_rejected_proposal_writes_nothing(run: Run, folder: Path, converse: Converse) -> None:
    converse(QUESTION, ACCEPTED)
    (listed,) = proposals(run)

    assert run("knowledge", "review", "reject", listed["id"])[:2] == (0, f"rejected: {listed['id']}\n")
    converse(QUESTION, ACCEPTED)
    assert proposals(run) == []
    assert [path.name for path in folder.iterdir()] == ["metrics.yml"]


def test_entry_with_a_mistake_is_not_written(run: Run, folder: Path, converse: Converse) -> None:
    converse(QUESTION, ACCEPTED)
    (listed,) = proposals(run)
    (folder / "own.yml").write_text("verified:\n  - {question: how many customers live in spain, sql: SELECT 1}\n")

    code, _, err = run("knowledge", "review", "accept", listed["id"])
    assert code == 3 and "is already defined at knowledge/shop/own.yml:2" in err
    assert run("knowledge", "review", "accept", listed["id"], "--file", "../other.yml")[0] == 2
    assert run("knowledge", "review", "show", "pr_0000000000000000")[0] == 2
    assert json.loads(run("knowledge", "review", "show", listed["id"], "--json")[1])["status"] == "open"


def test_chosen_meaning_of_a_shared_word_is_proposed(run: Run, folder: Path, converse: Converse) -> None:
    sql = "SELECT SUM(total_amount) FROM orders"
    question = {"question": "What were the sales?"}
    converse(question, {"clarification_answer": "1"}, ACCEPTED, sql=sql)
    listed = proposals(run)
    (chosen,) = [each for each in listed if each["choice"]]

    assert chosen["choice"] == {"word": "sales", "means": "gross sales"}
    assert run("knowledge", "review", "accept", chosen["id"])[:2] == (
        0, "accepted: knowledge/shop/verified.yml:2\n",
    )  # fmt: skip
    assert (folder / "verified.yml").read_text() == "choices:\n  sales: gross sales\n"
    assert run("knowledge", "check")[:2] == (0, "shop: entries: 3, errors: 0\n")
    (output,) = converse(question, sql=sql)
    assert output["clarification"] is None
    assert [each["name"] for each in output["definitions"]] == ["gross sales"]


def test_without_a_record_proposals_are_beside_the_knowledge(
    run: Run, folder: Path, converse: Converse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATASPHINX_RECORD", "false")
    converse(QUESTION, ACCEPTED)

    assert (folder / "proposals.sqlite").is_file()
    (listed,) = proposals(run)
    assert run("knowledge", "review", "accept", listed["id"])[0] == 0


def test_nothing_is_proposed_without_a_knowledge_folder(run: Run, folder: Path, converse: Converse) -> None:
    Path("datasphinx.toml").write_text("")
    accepted = converse(QUESTION, ACCEPTED)[1]

    assert accepted["answer"] == "Noted: the answer is right."
    assert run("knowledge", "review", "list")[1] == "There is no proposal with the status open.\n"
