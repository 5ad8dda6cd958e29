"""An analysis as its prompts and the checks of its texts see it: a value, made of the state in one place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from datasphinx.agent.answers.narration import seen
from datasphinx.agent.answers.references import Said, facts_of, unsupported
from datasphinx.agent.answers.result_facts import ResultFacts, with_plain_names
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.messages import Language, language_in
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.compare import names_in
from datasphinx.agent.state import AnalystState, Observation
from datasphinx.agent.tools.run_query import SHOWN_ROWS
from datasphinx.agent.types import AnswerChart, Clarification, KeptResult, OutputType, Result, Turn, masked


@dataclass(frozen=True)
class Analysis:
    """A question, its conversation, and what the calls for it returned."""

    question: str
    language: Language
    output_type: OutputType | None = None
    """The requested form of the answer."""
    clarifications: Sequence[Clarification] = ()
    turns: Sequence[Turn] = ()
    observations: Sequence[Observation] = ()
    results: Mapping[str, KeptResult] = field(default_factory=dict)
    charts: Sequence[AnswerChart] = ()

    @property
    def said(self) -> Said:
        """What a text may repeat: the words of the user, and the names of files, their sheets and columns."""
        units = list[str]()
        texts = [text for turn in self.clarifications for text in (turn["question"], turn["answer"])]
        for content in self._schemas():
            loaded = content.get("loaded", {})
            texts += filter(None, [content.get("file"), loaded.get("sheet"), *loaded.get("other_sheets", ())])
            texts += (column["name"] for column in content["columns"])
            units += (str(each["guess"]) for each in loaded.get("guesses", ()))
        return Said(self.question, texts, units=units)

    def facts_of_results(self, catalog: Catalog, formats: Mapping[str, str]) -> dict[str, ResultFacts]:
        """Return the facts about the results by their ids, as the model sees them."""
        facts = dict[str, ResultFacts]()
        for name, result in self.formatted_results(catalog, formats).items():
            kept = self.results[name]
            known = facts_of(masked(result), kept["sql"], catalog, self.language)
            facts[name] = seen(known.with_written_names(kept["result"]["columns"]), SHOWN_ROWS)
        return facts

    def formatted_results(self, catalog: Catalog, formats: Mapping[str, str]) -> dict[str, Result]:
        """Return the results by their ids, with the formats of their columns; `formats` are those of the model."""
        said, found = self.said, dict[str, Result]()
        for name, kept in self.results.items():
            result = with_formats(kept["result"], kept["sql"], catalog, formats, [said.question, *said.texts])
            found[name] = with_plain_names(result, kept["sql"], catalog, said)
        return found

    def problems_without_rows(self, text: str, figures: Iterable[Any] = ()) -> tuple[str, ...]:
        """Return the problems of a text without references: figures, except `figures`, and names that nobody said."""
        names = (names_in(kept["result"]) for kept in self.results.values())
        return unsupported(text, replace(self.said, literals=[*figures]), set[str]().union(*names))

    def figures_of_schemas(self) -> Iterator[Any]:
        """Yield the figures of columns that the model has seen: the least, the greatest and some others."""
        for column in (column for content in self._schemas() for column in content["columns"]):
            if "values_like" not in column:
                yield from (column[name] for name in ("min", "max") if column.get(name) is not None)
                yield from (value for value in column.get("example_values", ()) if isinstance(value, int | float))

    def _schemas(self) -> Iterator[dict[str, Any]]:
        """Yield what the calls of get_schema returned."""
        for observation in self.observations:
            if observation["tool"] == "get_schema" and not observation["failed"]:
                yield observation["content"]


def analysis_of(state: AnalystState) -> Analysis:
    """Return the analysis of a run with what its state says about it."""
    return Analysis(
        state.get("question") or "",
        language_in(state),
        output_type=state.get("output_type"),
        clarifications=state.get("clarifications") or (),
        turns=state.get("turns") or (),
        observations=state.get("observations") or (),
        results=state.get("results") or {},
        charts=[drawing["chart"] for drawing in state.get("drawn") or ()],
    )
