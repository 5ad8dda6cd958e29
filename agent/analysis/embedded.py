"""The step of the embedded model, which is trained to write query specs and nothing else of an analysis."""

import json
from functools import partial
from typing import Any

from agent.analysis.narrowed import narrowed_schema
from agent.analysis.shape import shape_of
from agent.analysis.spec_candidates import Asked, choose_spec
from agent.analysis.workbench import workbench
from agent.analyst_state import AnalystState, Conclusion, ToolCall
from agent.audit.step import note
from agent.catalog.linked_values import linked_values
from agent.catalog.schema import Table
from agent.catalog.source import Source
from agent.catalog.words import words
from agent.errors import QueryNotWritten
from agent.failure import failure_of
from agent.models.embedded_jobs import query_spec_messages
from agent.said import said_in
from agent.sampled import sampled_texts
from agent.services import Services

_DOUBT = "a small embedded model wrote the query, and it is often wrong: read it before you rely on the answer"


def embedded_step(state: AnalystState, services: Services) -> dict[str, Any]:
    """Return one query over the dataset whose columns the question names most; its rows are the answer.

    The model can only write what fits the schema of query specs with that dataset's own columns, and what the question
    says for certain of groups, figures and ranking. It writes several queries, whose results vote. Where none fits all
    the same the question ends: asked again, the model would write them again.

    Raises:
        ModelAnswerUnreadable: the only query was broken off.
        DatasphinxError: as `ModelClient.write` and `Services.datasets` say.
    """
    if state["results"]:
        note(_DOUBT)
        return {"conclusion": Conclusion(answer="", result_ids=[list(state["results"])[-1]])}
    if state["step_count"]:
        return {"failure": failure_of(QueryNotWritten(_last_error(state)))}
    bench = workbench(state, services)
    source, dataset_id = max(
        ((bench.open_source([each]), each) for each in state["dataset_ids"]),
        key=lambda pair: _words_in_common(pair[0].catalog.tables[pair[1]], state["question"]),
    )
    query = _written(dataset_id, source, state["question"], services)
    arguments = json.dumps({"dataset_id": dataset_id, "query": query}, ensure_ascii=False)
    return {"call": ToolCall(tool="run_query", arguments=arguments, is_given=False), "step_count": 1}


def _words_in_common(table: Table, question: str) -> int:
    return len(words(question) & {word for name in table.column_names for word in words(name)})


def _written(dataset_id: str, source: Source, question: str, services: Services) -> str:
    """Return the query on which most of what the model writes agrees."""
    table: Table = source.catalog.tables[dataset_id]
    values = linked_values(question, source.values, {table.key: table.column_names})
    today = services.today().isoformat()
    messages = query_spec_messages(source.catalog, table.key, question, values, today=today)
    shape, said = shape_of(question, table), said_in(question, [value.value for value in values])
    figures = [figure for figure in said.figures if figure != str(shape.limit)]
    schema = ("QuerySpec", narrowed_schema(table, shape, filters=bool(said.values or figures)))
    count = services.embedded.candidates if services.embedded else 1
    texts = sampled_texts(partial(services.model.write, messages, schema=schema), count)
    if count == 1:
        return next(texts)
    return choose_spec(texts, count, Asked(dataset_id, source, said, shape.bounds))


def _last_error(state: AnalystState) -> str:
    error = state["observations"][-1]["content"].get("error", {})
    return "; ".join(each["reason"] for each in error.get("problems", ())) or str(error.get("message", ""))
