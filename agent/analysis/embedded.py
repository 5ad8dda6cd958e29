"""The analysis with the embedded model, which is trained to write query specs only: one query, then its answer."""

import json
from datetime import date
from functools import partial
from typing import Any

from datasphinx.agent.analysis.analysis import Analysis
from datasphinx.agent.core.failure import failure_of
from datasphinx.agent.embedded.candidates import sample_texts
from datasphinx.agent.embedded.constraints import constraints_of
from datasphinx.agent.embedded.date_ranges import date_range_of
from datasphinx.agent.embedded.evidence import evidence_of
from datasphinx.agent.embedded.narrowed_schema import narrowed_schema
from datasphinx.agent.embedded.outputs import without_rounding
from datasphinx.agent.embedded.prompts import query_spec_messages
from datasphinx.agent.embedded.shape import shape_of
from datasphinx.agent.embedded.spec_candidates import SpecContext, count_findings, select_spec, with_dates
from datasphinx.agent.errors import Unanswered
from datasphinx.agent.llm.client import ModelClient
from datasphinx.agent.messages import Language, Message
from datasphinx.agent.retrieval.linked_values import linked_values
from datasphinx.agent.schema.catalog import TIMES
from datasphinx.agent.schema.words import words
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import Conclusion, ToolCall
from datasphinx.agent.tools.tool import Workbench
from datasphinx.agent.types import Evidence


def embedded_step(analysis: Analysis, bench: Workbench, model: ModelClient, today: date) -> dict[str, Any]:
    """Return the next changes of the state: a query over one dataset, then the conclusion with its result.

    The dataset is the one that shares the most column words with the question. The output of the model is constrained
    to query specs over the columns of that dataset, with the groups, figures and ranking that rules derive from the
    question. Of several generated queries the most likely one is selected. If it fails, the analysis fails: a second
    attempt would generate the same queries.

    Raises:
        ModelAnswerUnreadable: the only generated query was cut off.
    """
    if analysis.results:
        return {"conclusion": Conclusion(answer="", result_ids=[list(analysis.results)[-1]])}
    last = analysis.observations[-1]
    if last["tool"] == "run_query":
        reason = _reasons(last["content"].get("error", {}), analysis.language)
        return {"failure": failure_of(Unanswered("query_not_written", reason=reason))}
    question_words = words(analysis.question)
    source, dataset_id = max(
        ((bench.open_source([name]), name) for name in bench.dataset_ids),
        key=lambda pair: len(question_words & words(" ".join(pair[0].catalog.tables[pair[1]].column_names))),
    )
    query, evidence = _generate_query(dataset_id, source, analysis.question, model, today)
    arguments = json.dumps({"dataset_id": dataset_id, "query": query}, ensure_ascii=False)
    call = ToolCall(tool="run_query", arguments=arguments, is_given=False)
    return {"call": call, "step_count": 1, "evidence": evidence}


def _reasons(error: dict[str, Any], language: Language) -> str:
    """Return why the query failed: in English the reasons that a model is told, else the places in the query."""
    problems = error.get("problems", ())
    if language == "en" or not problems:
        return "; ".join(problem["reason"] for problem in problems) or str(error.get("message", ""))
    return Message("spec_place_wrong", place=", ".join(problem["path"] for problem in problems))


def _generate_query(
    dataset_id: str, source: Source, question: str, model: ModelClient, today: date
) -> tuple[str, Evidence]:
    """Return the most likely of the generated queries, and what is known about it."""
    table = source.catalog.tables[dataset_id]
    has_dates = any(column.type_class in TIMES for column in table.columns)
    dates = date_range_of(question, today) if has_dates else None
    values = linked_values(question, source.values, {table.key: table.column_names})
    question = dates.question if dates else question
    messages = query_spec_messages(source.catalog, table.key, question, values, today=today.isoformat())
    shape, constraints = shape_of(question, table), constraints_of(without_rounding(question), values)
    figures = [figure for figure in constraints.figures if figure != str(shape.limit)]
    narrowed = narrowed_schema(table, shape, filters=bool(values or figures), values=bool(values))
    schema = ("QuerySpec", narrowed)
    count = model.embedded.candidates if model.embedded else 1
    texts = sample_texts(partial(model.write, messages, schema=schema), count)
    context = SpecContext(dataset_id, source, constraints, shape.bounds, dates.days if dates else None)
    if count == 1:
        written = next(texts)
        text, evidence = written.text, evidence_of(written.text, written.logprob, 0, values, None)
        text = with_dates(text, context)
    else:
        text, selection = select_spec(texts, count, context)
        if selection is None:
            return text, Evidence()
        best = selection.best
        evidence = evidence_of(text, best.logprob, best.violations, values, selection)
    return text, {**evidence, "findings": count_findings(text, context)}
