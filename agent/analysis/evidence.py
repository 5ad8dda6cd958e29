"""What the texts of an analysis may say: references to its results, and what the user and the data said."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from datasphinx.agent.answers.narration import seen
from datasphinx.agent.answers.references import Said, facts_of, unsupported
from datasphinx.agent.answers.result_facts import ResultFacts, with_plain_names
from datasphinx.agent.formatting.checks import with_formats
from datasphinx.agent.messages import language_in
from datasphinx.agent.schema.catalog import Catalog
from datasphinx.agent.sql.compare import names_in
from datasphinx.agent.state import AnalystState
from datasphinx.agent.tools.run_query import SHOWN_ROWS
from datasphinx.agent.types import Result, masked


def facts_of_results(state: AnalystState, catalog: Catalog, formats: Mapping[str, str]) -> dict[str, ResultFacts]:
    """Return the facts about the results by their ids, as the model sees them."""
    results, language = formatted_results(state, catalog, formats), language_in(state)
    facts = {
        name: facts_of(masked(results[name]), kept["sql"], catalog, language) for name, kept in state["results"].items()
    }
    written = {name: kept["result"]["columns"] for name, kept in state["results"].items()}
    return {name: seen(each.with_written_names(written[name]), SHOWN_ROWS) for name, each in facts.items()}


def formatted_results(state: AnalystState, catalog: Catalog, formats: Mapping[str, str]) -> dict[str, Result]:
    """Return the results by their ids, with the formats of their columns; `formats` are those of the model."""
    said = said_of(state)
    found = dict[str, Result]()
    for name, kept in state["results"].items():
        result = with_formats(kept["result"], kept["sql"], catalog, formats, [said.question, *said.texts])
        found[name] = with_plain_names(result, kept["sql"], catalog, said)
    return found


def said_of(state: AnalystState) -> Said:
    """Return what a text may repeat: the words of the user, and the names of files and their columns."""
    answers = [text for turn in state["clarifications"] for text in (turn["question"], turn["answer"])]
    return Said(state["question"], [*answers, *_names(state)])


def problems_without_rows(text: str, state: AnalystState, figures: Iterable[Any] = ()) -> tuple[str, ...]:
    """Return the problems of a text that has no references: figures, and names of the results, that nobody said.

    It may also have `figures`.
    """
    names = (names_in(kept["result"]) for kept in state["results"].values())
    return unsupported(text, replace(said_of(state), literals=[*figures]), set[str]().union(*names))


def figures_of_schemas(state: AnalystState) -> Iterator[Any]:
    """Yield the figures of columns that the model has seen: the least, the greatest and some others."""
    for column in (column for content in _schemas(state) for column in content["columns"]):
        if "values_like" not in column:
            yield from (column[name] for name in ("min", "max") if column.get(name) is not None)
            yield from (value for value in column.get("example_values", ()) if isinstance(value, int | float))


def _names(state: AnalystState) -> Iterator[str]:
    """Yield the names of the files, their sheets and columns that the model has seen."""
    for content in _schemas(state):
        loaded = content.get("loaded", {})
        yield from filter(None, [content.get("file"), loaded.get("sheet"), *loaded.get("other_sheets", ())])
        yield from (column["name"] for column in content["columns"])


def _schemas(state: AnalystState) -> Iterator[dict[str, Any]]:
    """Yield what the calls of get_schema returned."""
    for observation in state["observations"]:
        if observation["tool"] == "get_schema" and not observation["failed"]:
            yield observation["content"]
