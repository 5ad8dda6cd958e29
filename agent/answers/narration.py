"""Narration: an answer written by the model, used only if the rows support every figure and claim in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

import prompts
from agent.answers.filters import condition_words
from agent.core.prompt_data import escaped, shortened
from agent.grounding.binding import Objection
from agent.grounding.claims import unsupported_claims
from agent.grounding.evidence import NO_EVIDENCE, Evidence
from agent.grounding.facts import Column, Table, aggregates, bits
from agent.llm.client import ModelClient
from agent.llm.schemas import NarratedAnswer
from agent.messages import CONVENTIONS, Language
from agent.record.step import note
from agent.types import OutputType, QuerySummary, Result, masked

_PROMPT_ROWS = 50
_ROW_CHARS = 500


def narrate(
    question: str,
    results: Mapping[str, Result],
    output_type: OutputType,
    language: Language,
    summary: QuerySummary,
    model: ModelClient,
    draft: str = "",
    instructions: str = "",
    evidence: Evidence = NO_EVIDENCE,
) -> str | None:
    """Return a few sentences about `results`, the main result first; `draft` is a text the model has already written.

    `summary` is the summary of the main statement, and `instructions` the operator's text for prompts. Values of
    secret columns are masked first, so that no prompt contains them. If neither the rows nor `evidence` support a
    figure or claim, the model gets these claims with the reasons and rewrites the text once. Returns None if the model
    fails or the second text has an unsupported claim too.
    """
    results = {name: masked(result) for name, result in results.items()}
    filters = condition_words(summary["conditions"], language)
    evidence = replace(evidence, filters=tuple(dict.fromkeys([*filters, *evidence.filters])))
    in_prompt = filters or (["not known"] if summary["more_conditions"] else ["none"])
    messages = _messages(question, results, output_type, language, in_prompt, model, instructions)
    try:
        text = draft or _ask(model, messages)
        objections = _objections(text, results, question, evidence)
        if objections:
            text = _ask(model, [*messages, AIMessage(text), _correction(objections)])
            objections = _objections(text, results, question, evidence)
    except Exception as error:
        # The rows can be returned without a narration, so no error ends the run here.
        note(f"narration failed: {error}")
        return None
    return None if objections else text or None


def _ask(model: ModelClient, messages: list[BaseMessage]) -> str:
    return model.ask(NarratedAnswer, messages).answer.strip()


def _objections(text: str, results: Mapping[str, Result], question: str, evidence: Evidence) -> list[Objection]:
    """Return the claims of `text` that neither the results nor `evidence` support, and note them."""
    objections = unsupported_claims(text, list(results.values()), question, evidence)
    if objections:
        claims = dict.fromkeys(objection.claim for objection in objections)
        note(f"narration rejected, unsupported claims: {', '.join(claims)}")
    return objections


def _correction(objections: list[Objection]) -> BaseMessage:
    claims = "\n".join(dict.fromkeys(f"- {objection.claim}: {objection.reason}" for objection in objections))
    return HumanMessage(
        f"The rows do not support these claims:\n{claims}\nWrite the answer again without them. State only figures of "
        "the rows and of the computed facts, each with the name, period and metric that it belongs to, and no causes, "
        "forecasts or judgements."
    )


def _messages(
    question: str,
    results: Mapping[str, Result],
    output_type: OutputType,
    language: Language,
    filters: Sequence[str],
    model: ModelClient,
    instructions: str,
) -> list[BaseMessage]:
    main = next(iter(results.values()))
    lines = []
    for name, result in results.items():
        if len(results) > 1:
            lines.append(f"{name}, {len(result['rows'])} rows:")
        rows = [dict(zip(result["columns"], row, strict=True)) for row in result["rows"][:_PROMPT_ROWS]]
        lines += [escaped(shortened(row))[:_ROW_CHARS] for row in rows]
    return prompts.render(
        "narrate",
        model.profile,
        instructions=instructions,
        language=CONVENTIONS[language].name,
        output_type=output_type,
        question=question,
        filters=escaped("; ".join(filters)),
        count=str(len(main["rows"])),
        cut=", more exist" if main["truncated"] else "",
        facts=escaped(computed_facts(list(results.values()), question)) or "nothing",
        rows="\n".join(lines),
    )


_MAX_METRICS = 6
_MAX_GROUPS = 12
_MAX_CHARS = 2_000


def computed_facts(results: Sequence[Result], question: str) -> str:
    """Return totals, averages, medians, extremes, shares and changes of `results`, at most 2,000 characters.

    Results of one row have none. For a truncated result, only the number of its rows is returned.
    """
    lines: list[str] = []
    size = 0
    for result in results:
        for line in _facts_of(Table(result, question)):
            size += len(line) + 1
            if size > _MAX_CHARS:
                return "\n".join(lines)
            lines.append(line)
    return "\n".join(lines)


def _facts_of(table: Table) -> Iterator[str]:
    rows = table.all.bit_count()
    if len(table.rows) < 2:
        return
    if table.truncated:
        yield f"{len(table.rows)} rows are shown, more exist: totals, counts and extremes of all rows are not known"
        return
    yield f"rows: {rows}"
    for column in table.metrics[:_MAX_METRICS]:
        values = table.values(table.all, column.index)
        if len(values) < 2:
            continue
        computed = aggregates(values)
        parts = [f"total {_number_text(computed['total'])}"] if column.is_additive else []
        parts += [f"average {_number_text(computed['average'])}", f"median {_number_text(computed['median'])}"]
        ordered = sorted(
            (at for at in bits(table.all) if column.values[at] is not None), key=lambda at: column.values[at] or 0.0
        )
        parts += [f"highest {_cell(table, column, ordered[-1])}", f"lowest {_cell(table, column, ordered[0])}"]
        yield f"{column.name}: {'; '.join(parts)}"
    for column in table.metrics[:_MAX_METRICS]:
        yield from _by_group(table, column)
        yield from _over_time(table, column)


def _by_group(table: Table, column: Column) -> Iterator[str]:
    """Yield the totals of the names that have several rows, and the share of each name."""
    whole = sum(table.values(table.all, column.index))
    if not column.is_additive or not whole or min(table.values(table.all, column.index)) < 0:
        return
    for label in table.labels:
        groups = table.groups(label.index)
        if not 1 < len(groups) <= _MAX_GROUPS:
            continue
        totals = {name: sum(table.values(rows, column.index)) for name, rows in groups.items()}
        shares = ", ".join(
            f"{name} {_number_text(total) + ' = ' if len(groups) < len(table.rows) else ''}{100 * total / whole:.1f}%"
            for name, total in totals.items()
        )
        yield f"{column.name} by {label.name}, share of the total: {shares}"


def _over_time(table: Table, column: Column) -> Iterator[str]:
    """Yield the change from the first period to the last."""
    if len(table.time_steps) < 2:
        return
    (_, first), (_, last) = table.time_steps[0], table.time_steps[-1]
    early, late = sum(table.values(first, column.index)), sum(table.values(last, column.index))
    if column.is_additive or first.bit_count() == last.bit_count() == 1:
        change = f", {100 * (late - early) / abs(early):+.1f}%" if early else ""
        ends = f"{_number_text(early)} to {_number_text(late)}"
        yield f"{column.name}, first period to last: {ends}, {late - early:+,.6g}{change}"


def _cell(table: Table, column: Column, row: int) -> str:
    names = [str(table.rows[row][label.index]) for label in table.columns if label.kind in {"label", "period"}]
    value = _number_text(column.values[row] or 0.0)
    return f"{value} ({', '.join(names[:2])})" if names else value


def _number_text(value: float) -> str:
    """Return a number without exponent, with at most four decimals."""
    return f"{value:,.4f}".rstrip("0").rstrip(".") if abs(value) < 1e15 else f"{value:.6g}"
