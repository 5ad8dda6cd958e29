"""The analyst with the embedded model, which only writes query specs; a scripted model stands in for it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from datasphinx.agent.analyst import build_analyst
from datasphinx.agent.llm.scripted import ScriptedModel
from datasphinx.agent.services import Services
from datasphinx.agent.settings import load_settings
from datasphinx.agent.types import EmbeddedOptions
from tests.agent.analysis.conftest import BY_ACCOUNT, TOTAL, calls, tools
from tests.support.likely import likely

Ask = Callable[..., tuple[dict[str, Any], ScriptedModel]]


@pytest.fixture
def ask(cache_dir: Path, data_dir: Path) -> Ask:
    """A maker of outputs: the model's texts, the question, the files."""

    def make(texts: list[Any], question: str, *files: str, **decoding: Any) -> tuple[dict[str, Any], ScriptedModel]:
        model = ScriptedModel({"QuerySpec": texts})
        settings = load_settings(cache_dir=cache_dir, data_dir=data_dir)
        services = Services(settings, model=model, embedded=EmbeddedOptions(**decoding))
        return build_analyst(services).invoke({"question": question, "files": list(files)}), model

    return make


def test_one_query_is_the_answer(ask: Ask, returns: str) -> None:
    output, model = ask([likely(json.dumps(BY_ACCOUNT), 0.6)], "每个账号的退货数量", returns)

    assert output["tables"][0]["rows"] == [["alpha", 30], ["beta", 70]]
    assert tools(output) == ["create_dataset", "get_schema", "run_query"]
    assert output["answer"].startswith("| 账号 | ")
    assert 0 < output["confidence"]["value"] < 1 and output["status"] == "ok"
    assert all("退货数量" in call.prompt for call in model.calls) and len(model.calls) == 1


@pytest.mark.heavy
def test_of_several_datasets_the_one_that_is_named_is_asked(ask: Ask, returns: str, sales: str) -> None:
    spec = {"group_by": ["region"], "aggregations": [{"as": "sum_amount", "agg": "sum", "col": "net amount"}]}
    output, model = ask([likely(json.dumps(spec), 0.6)], "What is the net amount by region?", returns, sales)

    assert output["tables"][0]["rows"] == [["North", 10.5], ["South", 20.0]]
    assert "net amount" in model.calls[0].prompt


def test_a_query_that_does_not_fit_ends_the_question(ask: Ask, returns: str) -> None:
    output, model = ask([{"group_by": ["no such"]}] * 3, "退货数量", returns)

    assert output["error"]["code"] == "query_not_written"
    assert calls(output, "run_query")[0]["error"]
    assert len(model.calls) == 3


def test_the_most_likely_query_answers(ask: Ask, returns: str) -> None:
    texts = [likely(json.dumps(TOTAL), 0.2), likely(json.dumps(BY_ACCOUNT), 0.3), likely(json.dumps(TOTAL), 0.2)]
    output, model = ask(texts, "退货数量", returns)

    assert output["tables"][0]["rows"] == [["alpha", 30], ["beta", 70]]
    assert len(model.calls) == 3
    assert output["status"] == "unsure"
    assert any(output["confidence"]["reason"] in note for note in output["audit"]["notes"])


def test_one_candidate_is_run_once(ask: Ask, returns: str) -> None:
    output, model = ask([TOTAL], "退货数量", returns, candidates=1)

    assert output["value"] == 100
    assert [len(each["statements"]) for each in calls(output, "run_query")] == [1] and len(model.calls) == 1


@pytest.mark.parametrize("candidates", [1, 3])
def test_dates_of_the_question_are_applied_to_the_query(ask: Ask, tmp_path: Path, candidates: int) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("day,visits\n2025-03-31,5\n2025-04-01,7\n2025-06-30,11\n2025-07-01,13\n", encoding="utf-8")
    spec = {
        "filters": [{"col": "day", "op": "=", "value": "2025-01-01"}],
        "aggregations": [{"as": "total", "agg": "sum", "col": "visits"}],
    }
    output, model = ask([likely(json.dumps(spec), 0.9)], "Total visits in Q2 2025", str(path), candidates=candidates)

    assert output["value"] == 18
    assert "Total visits in 2025" in model.calls[0].prompt


def test_query_without_the_dates_of_the_question_has_no_violation(ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("day,visits\n2025-03-31,5\n2025-04-01,7\n", encoding="utf-8")
    spec = {"aggregations": [{"as": "total", "agg": "sum", "col": "visits"}]}
    output, model = ask([likely(json.dumps(spec), 0.9)] * 3, "Total visits in Q2 2025", str(path))

    assert output["value"] == 7
    assert len(model.calls) == 1, "a violation would be a reason to try other queries"


def test_what_cannot_be_read_or_run_is_dropped(ask: Ask, returns: str) -> None:
    output, _ = ask(["{", {"group_by": ["no such"]}, TOTAL], "退货数量", returns)

    assert output["value"] == 100


@pytest.mark.parametrize(
    ("question", "better"),
    [
        ("退货数量超过15的记录有多少条？", {"filters": [{"col": "退货数量", "op": ">", "value": 15}]}),
        ("账号为alpha的记录有多少条？", {"filters": [{"col": "账号", "op": "=", "value": "alpha"}]}),
    ],
)
def test_a_query_that_leaves_out_what_the_question_says_loses(
    ask: Ask, returns: str, question: str, better: dict[str, Any]
) -> None:
    count = {"aggregations": [{"as": "count", "agg": "count", "col": "*"}]}
    output, _ = ask([count, count, {**better, **count}], question, returns)

    assert calls(output, "run_query")[0]["arguments"]["query"]["filters"] == better["filters"]


def test_a_value_that_nobody_said_loses(ask: Ask, returns: str) -> None:
    beta = {"filters": [{"col": "账号", "op": "=", "value": "beta"}], **TOTAL}
    output, _ = ask([beta, beta, TOTAL], "退货数量总和是多少？", returns)

    assert output["value"] == 100


def test_a_ranking_is_by_its_one_figure(ask: Ask, returns: str) -> None:
    ranking = {**BY_ACCOUNT, "sort": [{"by": "no such", "desc": True}], "limit": 1}
    output, _ = ask([likely(json.dumps(ranking), 0.6)], "哪个账号的退货数量最多？", returns)

    assert output["tables"][0]["rows"] == [["beta", 70]]


@pytest.mark.parametrize("candidates", [1, 3])
@pytest.mark.parametrize(
    ("question", "added", "status"),
    [
        ("每个账号的退货数量占比", {}, "unsure"),
        ("每个账号的退货数量占比", {"derived": [{"as": "占比", "expr": "share(returns)"}]}, "ok"),
        ("每个账号的退货数量", {"limit": 1}, "unsure"),
        ("每个账号的退货数量", {"limit": 1, "sort": [{"by": "returns", "desc": True}]}, "ok"),
    ],
    ids=["no share", "share", "limit without an order", "ranking"],
)
def test_a_likely_query_without_a_share_or_an_order_is_a_draft(
    ask: Ask, returns: str, question: str, added: dict[str, Any], status: str, candidates: int
) -> None:
    output, _ = ask([likely(json.dumps({**BY_ACCOUNT, **added}), 0.99)] * 6, question, returns, candidates=candidates)

    assert (output["status"], bool(output["tables"])) == (status, True)
