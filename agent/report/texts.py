"""Texts of a report: filled from the rows of its parts and checked, or plain ones where a text may not be shown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from datasphinx.agent.answers.narration import PROMPT_ROWS, rows_text, seen
from datasphinx.agent.answers.references import Filled, ResultFacts, Said, facts_of, fill, unsupported
from datasphinx.agent.core.prompt_data import escaped
from datasphinx.agent.messages import Language, language_in
from datasphinx.agent.report.plan import source_of
from datasphinx.agent.services import Services
from datasphinx.agent.sources.source import Source
from datasphinx.agent.state import ReportState
from datasphinx.agent.types import ReportFigure, ReportPart, ReportText, Result, masked

_NO_ROWS = Result(columns=[], types=[], rows=[], truncated=True)
"""The rows of references without the id of a part: there are none."""


@dataclass(frozen=True)
class Findings:
    """The answered parts of a report, as a model sees them and as its texts may refer to them."""

    parts: Mapping[str, ReportPart]
    facts: ResultFacts
    said: Said
    instructions: str
    """The instructions of the operator for the source."""

    def fill(self, text: str, needs_value: Sequence[str] = ()) -> Filled:
        """Return `text` with the values of its references; it needs one if one of the parts `needs_value` has rows."""
        filled = fill(text.strip(), self.facts, self.said)
        has_rows = any(name in self.facts.others for name in needs_value)
        if has_rows and not filled.problems and not filled.values:
            return Filled("", ("it does not refer to any value of the rows",))
        return filled

    def title_problems(self, text: str) -> tuple[str, ...]:
        """Return why a title without references may not be shown."""
        names = {name for facts in self.facts.others.values() for name in facts.names}
        return unsupported(text, self.facts.with_literals(self.said), names)

    def prompt(self) -> str:
        """Return the questions with their statements' filters, and the rows of their answers, for a prompt."""
        about = []
        for name, part in self.parts.items():
            filters = f" (filters: {escaped('; '.join(part['filters']))})" if part["filters"] else ""
            suffix = filters if name in self.facts.others else f" - no answer: {escaped(part['answer'])}"
            about.append(f"{name}: {escaped(part['question'])}{suffix}")
        return "\n".join([*about, "", rows_text(self.facts, ":")])


def findings_of(state: ReportState, services: Services) -> Findings:
    """Return the answers of `state`; a model sees the first rows of each, without values of secret columns."""
    language, parts, source = language_in(state), state["parts"], source_of(state, services)
    facts = {name: found for name, part in parts.items() if (found := _facts(part, source, language))}
    base = ResultFacts(_NO_ROWS, [], language, others=facts)
    answers = (each["answer"] for each in state["clarifications"])
    texts = [*answers, source.instructions, *(part["question"] for part in parts.values())]
    literals = [literal for one in facts.values() for literal in one.literals]
    return Findings(parts, base, Said(state["question"] or "", texts, literals), source.instructions)


def _facts(part: ReportPart, source: Source, language: Language) -> ResultFacts | None:
    """Return the facts about the rows of a part, if it has some."""
    result = part["result"]
    if not result or not part["sql"]:
        return None
    facts = facts_of(masked(result), part["sql"], source.catalog, language)
    if "change" in part:
        # Code computed these columns, so the statement does not say which of them add up.
        added = result.get("additive", ())
        columns = [replace(each, is_additive=at in added) for at, each in enumerate(facts.columns)]
        facts = replace(facts, columns=columns)
    return seen(facts, PROMPT_ROWS)


def report_text(filled: Filled) -> ReportText:
    """Return a filled text with the places of its figures."""
    figures = [
        ReportFigure(start=value.start, end=value.end, part=value.result, rows=list(value.rows))
        for value in filled.values
    ]
    return ReportText(text=filled.text, figures=figures)


def plain_text(text: str) -> ReportText:
    """Return a text without references."""
    return ReportText(text=text, figures=[])
