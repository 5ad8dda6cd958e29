"""Questions about metrics of the shop that were written before metrics were compiled, with recorded replies."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from datasphinx.agent.generation.definitions import Asked, names_metric
from datasphinx.agent.knowledge.folder import read_folder
from datasphinx.agent.knowledge.metric_query import metric_statement
from datasphinx.agent.llm.schemas import GeneratedSQL
from datasphinx.agent.sample.shop import shop_url
from datasphinx.agent.settings import SourceSettings
from datasphinx.agent.sources.source import Source, open_source
from datasphinx.agent.types import Limits

pytestmark = pytest.mark.integration

FIXTURES = Path(__file__).parents[2] / "fixtures"
REPLIES = [json.loads(line) for line in (FIXTURES / "metric_questions" / "replies.jsonl").read_text().splitlines()]
"""Replies with `metric`, the part of them that names metrics, and `sql`, a reference, if these can be compiled."""
COMPILED = [reply for reply in REPLIES if "sql" in reply]


@pytest.fixture(scope="module")
def shops(cache_dir: Path) -> Iterator[dict[str, Source]]:
    """The sample shop with each of the two sets of knowledge."""
    settings = SourceSettings(url=SecretStr(shop_url(cache_dir)))
    opened = {
        name: open_source(settings, Limits(60, 1000), cache_dir=cache_dir, knowledge=read_folder(FIXTURES / name, name))
        for name in {reply["knowledge"] for reply in REPLIES}
    }
    yield opened
    for source in opened.values():
        source.close()


def compiled(reply: dict[str, Any], source: Source) -> str:
    """Return the statement for the metrics of a reply."""
    query = GeneratedSQL.model_validate({"sql": "", "metric": reply["metric"]}).metric
    assert query is not None
    return metric_statement(query, source.knowledge)


def rows(source: Source, sql: str) -> list[tuple[Any, ...]]:
    """Return rows in any order, with nine significant digits of numbers."""
    found = source.execute(sql)["rows"]
    return sorted(tuple(f"{cell:.9g}" if isinstance(cell, int | float) else str(cell) for cell in row) for row in found)


def test_most_questions_that_name_a_metric_are_compiled(shops: dict[str, Source]) -> None:
    assert all(names_metric(Asked(reply["question"]), shops[reply["knowledge"]]) for reply in REPLIES)
    assert (len(REPLIES), len(COMPILED)) == (53, 47)


@pytest.mark.parametrize("reply", COMPILED, ids=lambda reply: reply["question"])
def test_what_is_compiled_is_right(shops: dict[str, Source], reply: dict[str, Any]) -> None:
    source = shops[reply["knowledge"]]

    assert rows(source, compiled(reply, source)) == rows(source, reply["sql"])
